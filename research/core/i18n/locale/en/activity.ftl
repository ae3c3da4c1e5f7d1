### The words of a run: its steps, what failed, what it used.

run-notebook = Notebook: { $name }
run-queued = Queued
run-running = Running
run-waiting = Waiting for approval
run-waiting_help = The plan is ready. Nothing is searched until you approve it; you can still change the plan, the sources and the limits.
run-approve = Approve and start
run-asks_back = Waiting for your answer
run-instruct = Add an instruction
run-instruct_example = e.g. only after 2024; leave hotels out
run-instruct_send = Send
run-instruct_late = The run has ended and can no longer take this into account.
run-clarify_own = In your own words
run-clarify_send = Answer
run-clarify_skip = Skip
run-clarify_help = Continue with the likeliest meaning. You will not be asked again.
run-done = Done
run-stopped = Stopped
run-interrupted = Interrupted
run-failed = Failed
run-stop = Stop
run-resume = Resume
run-write = Stop and write
run-write_help = Stops searching and writes the answer from what was found.
run-more = One more round
run-more_help = Works out what is missing, searches only for that, and writes a new answer.
run-write_now = Answer with what was found
run-turn = The maximum number of runs is already in progress.
run-turn_own = You already have the maximum number of runs in progress.
run-turn_next = This one is next and starts automatically.
run-turn_after =
    { $n } { $n ->
        [one] run is
       *[other] runs are
    } ahead of this one, which then starts automatically.
run-discard = Cancel
run-discard_help = Nothing is searched. You can still resume later, from this step.
run-ending = Ending the search…
run-stopping = Stopping…
run-interrupted_help = Sightline stopped during this run. Finished searches are saved and will not be repeated.
run-stopped_help = The run was stopped. What it found is kept.
run-failed_help = The run failed: { $error }
run-no_reason = no reason recorded
run-rounds =
    { $n ->
        [one] 1 round
       *[other] { $n } rounds
    }
run-searches =
    { $n ->
        [one] 1 search
       *[other] { $n } searches
    }
run-tokens =
    { $n ->
        [one] 1 token
       *[other] { $n } tokens
    }
run-tokens_about =
    about { $n } { $n ->
        [one] token
       *[other] tokens
    } (estimate)
run-billed =
    { $n ->
        [one] 1 billed search
       *[other] { $n } billed searches
    }
run-cost = about { $cost } (estimate)
run-cost_part = about { $cost } (estimate, some prices unknown)
run-cost_unknown = price unknown
step-planning = Reading the question…
step-planned_now = Plan ready
step-round_now =
    Round { $n }: { $done } of { $all } { $all ->
        [one] query
       *[other] queries
    }
step-reflecting = Round { $n }: checking what is missing
step-sections = Sections: { $done } of { $all } done
step-so_far = passages so far: { $n }
step-planned =
    Plan: { $parts } { $parts ->
        [one] part
       *[other] parts
    }, { $tasks } { $tasks ->
        [one] query
       *[other] queries
    }
step-edited = as you edited it
step-clarified = Clarified: { $question } — { $answer }
step-skipped = skipped
step-instructed = You said: { $text } (used in the next reflection)
step-heeded = You said: { $text } ✓
step-unheeded = You said: { $text } (too late to be taken into account)
step-round_done =
    Round { $n }: { $done }/{ $all } { $all ->
        [one] query
       *[other] queries
    }, { $passages } { $passages ->
        [one] passage
       *[other] passages
    }
step-searching = searching…
step-waiting = waiting
step-found =
    { $n } { $n ->
        [one] passage
       *[other] passages
    } from { $titles }
step-reused = reused
step-cached = from a search at { $time }
step-reflection = Reflection
step-followups = Next
step-last = That was the last round; the answer follows.
step-ended = The search ended early; the answer follows.
step-no_followups = There is nothing else to try.
step-writing = Writing the answer…
step-answered =
    Answer: { $n } cited { $n ->
        [one] statement
       *[other] statements
    }
step-checking =
    Checking { $n } { $n ->
        [one] sentence
       *[other] sentences
    } against the sources…
step-checked =
    Check: { $n } { $n ->
        [one] sentence
       *[other] sentences
    } judged, { $mended } changed
step-again = { $what }: { $why }, retrying in { $wait }
step-queued = { $what }: queued under Sightline's own rate limits ({ $n })
step-unsaved = The report could not be saved as a file: { $why }
step-unreadable = Part of the answer of { $what } could not be read and was left out: { $parts }
why-synonyms = synonyms
why-other_language = other language
why-whole_subject = everything on the subject
why-edited = edited
stage-plan = planning
stage-search = search
stage-summarise = summarising
stage-reflect = reflection
stage-write = writing the answer
stage-check = check
reason-no_key = no key
reason-refused = refused
reason-redirected = redirected, not followed
reason-too_many_redirects = too many redirects
reason-not_found = nothing at that address
reason-too_large = too large
reason-quota = quota used up
reason-timeout = timed out
reason-unreachable = unreachable
reason-blocked = blocked
reason-empty = nothing found
reason-malformed = unreadable reply
reason-left_out = not run
reason-internal = internal error
reason-unavailable = service unavailable
reason-cut_off = cut off at the output limit
reason-unclear = needs to be more specific
reason-no_model = needs a model
hint-key = check the key
hint-billing = this needs credit, or a key with billing enabled; a free Gemini key cannot search or use every model
hint-minute = too many requests in a short time; try again shortly, or limit them with SIGHTLINE_REQUESTS_PER_MINUTE
hint-day = this is a daily quota; try again tomorrow, or choose another model in the settings
hint-location = the service is not available in this region; GOOGLE_GEMINI_BASE_URL can set another address
hint-model = no such model; choose another in the settings
hint-context = longer than the model's context
hint-endpoint = the address responds, but it is not this service
meter-searches = Searches { $used }/{ $limit }
meter-tokens = Tokens { $used }/{ $limit }
meter-cost = Cost { $used }/{ $limit }
meter-seconds = Seconds { $used }/{ $limit }
usage-title = Usage
usage-alt = Usage table, by stage and model
usage-stage = Stage
usage-model = Model
usage-calls = Calls
usage-input = Tokens in
usage-output = Tokens out
usage-searches = Billed searches
usage-cost = Cost (estimate)
usage-estimated =
    For { $n } { $n ->
        [one] call
       *[other] calls
    } the server did not report tokens; they are estimated from the length of the text, erring on the high side.
thought-understand = Understood
thought-link = Names matched
thought-write = SQL written
thought-refused = Refused
thought-run = Run
thought-judge = Judged
thought-supplement = Supplemented
thought-tables = Tables chosen for this question
thought-missing = Missing
thought-known = using the confirmed statement
thought-gained = cells filled: { $n }
section-waiting = waiting
section-searching = searching
section-writing = writing
section-reflecting = reflecting
section-done = done
section-round = round { $n }
section-cites = citations: { $n }
role-plan = Planning
role-reflect = Reflection
role-write = Writing
role-runs = Run server
role-search = Searching and summarising
role-traces = Traces
hint-dns = the name of the server cannot be looked up
hint-package = a package that this needs is not installed
hint-tls = the certificate of the server cannot be verified
