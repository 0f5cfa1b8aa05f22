"""Every requirement by its identifier, with its meaning in a line. The tests name these identifiers."""

from __future__ import annotations

AUTH = {
    1: "Registering signs in; addresses are trimmed and lower-cased; a taken one is refused.",
    2: "Sign-in: one answer, after equal work, for every reason to refuse.",
    3: "The access token: a 15-minute JWT in an httpOnly cookie.",
    4: "The refresh token: hashed at rest, rotated in its family; reuse revokes the family, two tabs at once do not.",
    5: "Each request asks the database for role, activity and revoked sessions; pages renew silently.",
    6: "Signing out here or everywhere clears cookies, stops runs and voids pending approvals.",
    7: "A forgotten password: one answer for all, a hashed single-use token for an hour, by mail.",
    9: "Only an admin changes roles, never their own; the last one stays, also under races.",
    11: "Five failures lock an existing account for 15 minutes; unknown addresses count nothing.",
    12: "Argon2id; an older desk's bcrypt hashes verify and are renewed; hashing never blocks.",
}
PROFILE = {
    1: "One reads one's own profile.",
    2: "Name and AI opt-out can be changed; AI needs the admin's word and one's own.",
    3: "A new password asks for the present one and ends the other sessions.",
}
ADM = {
    1: "Users in pages, with search and a filter by role.",
    2: "Changing a role.",
    3: "Activating and deactivating, never oneself.",
    4: "Switching AI off for a person.",
    5: "Everyone's work orders, and the desk in numbers.",
}
WO = {
    1: "The fields of a work order and their bounds.",
    2: "The list holds one's own orders only.",
    3: "Keyset pages with signed cursors.",
    4: "Filters, and a literal, case-insensitive search in the title.",
    5: "A new order is version 1 and its maker's.",
    6: "An update names its version; one of several wins, the others are told of the conflict.",
    7: "Deletion is soft, versioned and may be repeated; deleted orders are gone from every read.",
    8: "Unknown fields are refused; owner and ids never come from the body.",
    10: "Who may read one order, and what a wrong id answers.",
}
HTTP = {
    1: "Health and readiness.",
    2: "The envelope, the error codes, and what no body or query may hold.",
    3: "The shapes of the answers; secrets are in none of them.",
    4: "Rate limits in Redis, each with its own bucket, by the right client address.",
    5: "The pages; forms work without JavaScript.",
    6: "Cross-site requests are refused; a strict content security policy and headers.",
}
DATA = {
    1: "One MongoDB, standalone or replica set, without transactions or change streams.",
    2: "Collections and field names; an older desk's database opens unchanged.",
    3: "Every query is served by an index; what is unique is; expiries are TTL indexes.",
}
COP = {
    1: "One active conversation per person.",
    2: "A message starts a run; while one works, the next is refused.",
    3: "The copilot's tools: reads at once, writes staged.",
    4: "Tool arguments come from the desk's own schemas; never version or owner.",
    5: "A viewer's copilot reads only.",
    6: "Answers come from tool results about one's own orders.",
    7: "The drawer: streaming, cards, and the approval that shows what will change.",
    8: "Earlier conversations, and how much of them is kept.",
    9: "A failing model is said plainly; prompts are never logged.",
    10: "Every run, message and call is kept, and its person can read it.",
}
SEC = {
    1: "The provider's key and the prompts are in no log, error or body.",
    2: "The provider's address is checked; no redirects; not changeable at run time.",
    3: "What the provider says is untrusted: size, JSON and calls are checked.",
    4: "Tool arguments are validated strictly before anything runs.",
    5: "Injection is held by structure: a gate after the model, ids that were read, capped results.",
    6: "The system actor can do one thing: set a priority by triage.",
    7: "The copilot's writes wait for a person; every other ending is recorded.",
    8: "AI switched off for a person holds at every door and in the worker.",
    9: "What acts alone is bounded: steps, money, hours, leases, numbers at once.",
    10: "Hashes and lock state appear in no answer, tool result or log.",
    11: "The record: runs, messages, calls, before and after; reading another's is recorded too.",
    12: "How long the record is kept.",
    13: "Changes of configuration stand in an append-only audit.",
    14: "Another's conversation is not there.",
}
AGT = {
    1: "A new order leaves one event; reconciling finds those without.",
    2: "The worker claims events with a lease, few at once, and takes up what was dropped.",
    3: "The triage policy and its first values.",
    4: "One bounded, strictly read proposal per event; none for those who opted out.",
    5: "Passing failures are retried with growing pauses; lasting ones are shown.",
    6: "Suggest mode: a suggestion on the order, and the dispatcher's attention list.",
    7: "Auto-apply mode: the priority alone, with a fresh version.",
    8: "The dispatcher's doors to policy, runs, trigger and switch.",
    9: "The kill switch, read between steps.",
}
D = {
    1: "A run is durable: whoever finds it can carry it on; a lease and a fencing number guard it.",
    2: "Run and stream are apart: resume without loss or repeat, several watchers.",
    3: "A lost connection is no stop until a grace has passed.",
    4: "Earlier turns go into the prompt as far as they fit.",
    5: "An approved write happens exactly once, whatever dies.",
    6: "Deciding: one winner, an order of checks, retries answered alike.",
    7: "A target that changed is staged anew; nothing runs blindly.",
    8: "What was shown is what runs.",
    9: "The provider's odd answers are attributed or refused, never repaired.",
    10: "Money is reserved before a call and settled after it.",
    11: "Caps, hours and switches make an event wait; none is dropped.",
    12: "Working hours, and how they are written.",
    13: "When a suggestion is flagged, and what the daily cap counts.",
    14: "What auto-apply may write, in which direction, and its undo.",
    15: "Who applied or dismissed a suggestion is recorded.",
    16: "In triage the order's text is data; no tool is offered.",
    17: "A repeated message key starts nothing and names the first run.",
    18: "The kill switch for triage or all, and what it stops.",
    19: "Which provider addresses are allowed, checked at connect time.",
    20: "The audit is a chain that can be verified; reading a transcript is in it.",
    21: "Triage by hand goes through the same ledgers and policy.",
    22: "With AI off the whole desk works, and says how to turn it on.",
    23: "The events of a stream, their payloads and their order.",
    24: "The worker's timers; losing Redis loses no event.",
    25: "Structured output where the provider has it, with remembered fallbacks.",
    26: "Which ending each rule of a run leads to.",
    27: "What becomes of events of opted-out, old and imported orders.",
    28: "How long runs, messages and calls are kept, field by field.",
    30: "The added endpoints: runs, approvals, extend, undo, suggestions, audit.",
}
T = {
    1: "The risk ladder.",
    2: "The copilot's floor: every write asks.",
    3: "Unknown tools are not run; unclassified ones go to review.",
    12: "The confirmation token: bound to one call, spent once.",
    13: "Each decision of the gate is recorded with its reasons.",
}
SCENARIOS = {
    "1.1": "An approval is spent on one effect, also after later turns.",
    "1.2": "The effect stands when the model fails right after it.",
    "1.3": "Shown arguments are the ones that run.",
    "1.4": "A forged call or approval reaches no tool.",
    "1.5": "A rejected call never runs.",
    "1.6": "The same proposal, rejected again, ends the run.",
    "1.7": "Two decisions at once have one winner.",
    "2.1": "What waits is there again after a reload, elsewhere, or a cut stream.",
    "2.2": "A message while something waits is refused, and the conversation stays valid.",
    "2.3": "A target that changed or went away is never written blindly.",
    "2.4": "Reconnecting repeats nothing and starts nothing.",
    "2.5": "Any text arrives as it was sent.",
    "2.6": "A NUL or lone surrogate harms no run.",
    "2.7": "A dropped stream is not a stop.",
    "2.8": "Running out of time is its own outcome.",
    "3.1": "Unreported usage is settled at the reservation.",
    "3.2": "Parallel runs overshoot a cap by one call at most.",
    "3.3": "The switch stops what is queued as well.",
    "3.4": "Every event reaches an end or waits with a reason.",
    "3.5": "One suggestion per event.",
    "3.6": "What a person changed meanwhile stays.",
    "3.7": "AI administration refuses everyone else.",
}

BASE = {"AUTH": AUTH, "PROFILE": PROFILE, "ADM": ADM, "WO": WO, "HTTP": HTTP, "DATA": DATA}
"""The desk itself: each of these has a test, or the check fails."""

AGENTS = {"COP": COP, "SEC": SEC, "AGT": AGT, "D": D, "T": T}
"""What the copilot, triage and the tool policy add."""
