"""The cluster of `compose.yaml`: what is published, what is secret, and what it is made of."""

import re
from pathlib import Path

import yaml

from tests.tables import each_row

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
CLUSTER = yaml.safe_load(TEXT)
SERVICES = CLUSTER["services"]
DEPLOYMENT = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")


def test_only_the_proxy_is_published_and_the_stores_are_on_the_inside_alone():
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    assert CLUSTER["networks"]["inside"] == {"internal": True}
    for name in ("postgres", "redis", "migration"):
        assert SERVICES[name]["networks"] == ["inside"]
    assert "edge" not in SERVICES["agents"]["networks"]
    assert SERVICES["proxy"]["networks"] == ["edge"]


def test_no_secret_has_a_default_or_stands_in_the_file():
    for name in re.findall(r"\$\{(\w*(?:PASSWORD|SECRET|HOST)\w*)", TEXT):
        assert f"${{{name}:?set {name}}}" in TEXT
    assert not re.findall(r"\$\{\w*(?:PASSWORD|SECRET|HOST)\w*(?!\w|:\?)", TEXT)
    needed = set(re.findall(r"\$\{(\w+):\?", TEXT))
    told = DEPLOYMENT.split("## More than one machine")[1].split("```")[1]
    assert needed == set(re.findall(r"[A-Z]+_[A-Z_]+", told))


@each_row("name", ["pages", "agents", "postgres", "redis"])
def test_whoever_is_waited_for_says_when_it_is_ready(name):
    assert SERVICES[name]["healthcheck"]["test"]
    waited = [
        wait["condition"]
        for service in SERVICES.values()
        for other, wait in service.get("depends_on", {}).items()
        if other == name
    ]
    assert waited
    assert set(waited) == {"service_healthy"}


def test_the_image_has_what_the_document_says_and_all_that_is_served():
    recipe = SERVICES["pages"]["build"]["dockerfile_inline"]
    drivers = DEPLOYMENT.split("<!-- postgres -->")[1].split("```")[1]
    for driver in re.findall(r"'[^']+'", drivers):
        assert driver in recipe
    copied = re.findall(r"^COPY (.+) \S+$", recipe, re.M)
    for path in " ".join(copied).split():
        assert (ROOT / path).exists()


def test_pages_and_servers_share_rows_and_library_and_the_pages_know_the_servers():
    pages, agents = SERVICES["pages"], SERVICES["agents"]
    for name in ("STORE_URL", "SIGHTLINE_DATA_DIR"):
        assert pages["environment"][name] == agents["environment"][name]
    assert pages["volumes"] == agents["volumes"]
    assert pages["environment"]["RUNS_URL"] == f"http://agents:{agents['command'][-2]}"


def test_the_pages_know_the_name_by_which_their_health_is_asked_for():
    pages = SERVICES["pages"]
    known = [arg.split("=")[1] for arg in pages["command"] if "allowedHosts" in arg]
    (asked,) = re.findall(r"urlopen\('http://([^:/]+)", pages["healthcheck"]["test"][-1])
    assert asked in known
