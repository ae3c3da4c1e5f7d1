"""In Chromium: what a run asks back outlives the server, is answered with a click, and what is said to a
run under way goes into its report and its exports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.catalogue import WORDS
from tests.pages.conftest import KEY
from tests.pages.serving import Server
from tests.pages.test_browser import SKIPPED, Watched, fits, main, started
from tests.servers.openai import FakeOpenAI

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)
QUESTION = {"en": "How much is a ticket for the palace?", "zh": "故宫门票多少钱？"}
BACK = {"en": ("Which year?", "in 2024"), "zh": ("哪一年的门票？", "2024年的")}
SAID = {"en": "official sites only", "zh": "只要官方来源"}


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path, model: FakeOpenAI) -> Iterator[Server]:
    found = started(
        tmp_path_factory.mktemp("back") / "data", indexed, SIGHTLINE_SOURCES="library",
        ANSWER_MODEL="openai:gpt-fake", OPENAI_BASE_URL=model.base_url, OPENAI_API_KEY=KEY,
        SIGHTLINE_SEARCH_DELAY="5",
    )  # fmt: skip
    yield found
    found.kill()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_question_is_asked_back_over_a_restart_and_the_run_is_told_something(
    browser: Browser, server: Server, model: FakeOpenAI, lang: str
) -> None:
    back, choice = BACK[lang]
    model.brain.values["plan"] = {"ask_back": back, "choices": ["2023", choice]}
    asking = Watched(browser, server, viewport={"width": 390, "height": 800})
    page = asking.open(f"/?lang={lang}")
    page.locator(".st-key-ask textarea, textarea").first.fill(QUESTION[lang])
    page.locator(".st-key-start button").click()
    page.locator(".st-key-asked_back").get_by_text(back).wait_for()
    fits(page)
    address = page.url
    asking.context.close()

    server.kill()  # as a power cut would
    server.start()
    later = Watched(browser, server)
    page = later.open(address.replace(address.split("/?")[0], ""))
    page.locator(".st-key-asked_back").get_by_role("button", name=choice).click()
    line = page.locator("[class*=st-key-instruction_] input")
    line.fill(SAID[lang])
    line.press("Enter")
    page.wait_for_selector(".sl-answer > *")
    page.locator("[class*=st-key-activity_folded_] summary").first.click()
    n = 0 if lang == "zh" else 1
    for key, values in (
        ("step.clarified", {"question": back, "answer": choice}),
        ("step.heeded", {"text": SAID[lang]}),
    ):
        page.get_by_text(WORDS[key][n].format(**values)).first.wait_for()
    assert choice in main(page)
    later.check()
    later.context.close()
    prompt = [call.prompt for call in model.log if call.stage == "write"][-1]
    assert f"{back} {choice}" in prompt and SAID[lang] in prompt
