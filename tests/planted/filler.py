"""What most of a real conversation is: greetings, explanations, pasted code and logs, tools that look at things."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.planted.subjects import LOOKED_AT
from tests.planted.writer import FORMS, Writer

_GREETINGS = ("hi", "Good morning!", "hello again", "hey, are you there?", "back", "Good afternoon.")
_ANSWERS = ("Hello! Ready when you are.", "Hi, I'm here.", "Good to see you. I have the last state loaded.")
_QUESTIONS = (
    "What does this function do?",
    "how long did the last test run take?",
    "Where is the entry point of this thing?",
    "can you explain the difference between these two?",
    "why is there a semaphore in here?",
    "Which file has the route table?",
    "is that the reason for the slow page?",
    "What was the outcome?",
    "how far are you?",
    "Can you show me the diff?",
)
_EXPLANATIONS = (
    "It walks over the entries once and groups them by customer. The inner loop looks slow, but the groups are small.",
    "The entry point is `main()`; it parses arguments, builds the container and starts the loop.",
    "Both do the same in the common case. The first one copies, the second one gives out a view of the data.",
    "The semaphore is there since a former version had unbounded concurrency. It dates from last year.",
    "About four minutes, most of that in the browser part. The first half is setup.",
    "It took a while to find: the value is computed twice, once on load and once on render.",
    "I am through about half of the files. The rest are small.",
    "The page is slow because the list is rendered as a whole. The data itself arrives within a few milliseconds.",
    "Here is what happens, step by step. First the request is parsed. Then the handler looks up the tenant. Its "
    "settings are merged with the defaults. After that the template is rendered, and the response goes out.",
)
_CODE = (
    "```python\ndef total(lines):\n    return sum(line.price * line.count for line in lines)\n```",
    "```ts\nexport const byId = (rows: Row[]) => new Map(rows.map((row) => [row.id, row]));\n```",
    "```go\nfor _, line := range lines {\n\tif err := post(line); err != nil {\n\t\treturn err\n\t}\n}\n```",
    "```sql\nSELECT id, total FROM orders WHERE placed_at > now() - interval '1 day';\n```",
    '```sh\nfor file in *.log; do gzip "$file"; done\n```',
)
_LOG = (
    "[info] worker started",
    "[debug] cache miss for key tenant:{n}",
    "[info] GET /orders/{n} 200 in {m}ms",
    "[warn] slow query ({m} ms)",
    "[info] flushed {n} spans",
    "[debug] connection {n} returned",
)
_CHAT = (
    "ok",
    "thanks",
    "great, go on",
    "hm, interesting",
    "looks right to me",
    "sure",
    "I'll be away for an hour.",
    "that was faster than I thought",
    "nice",
    "one sec, phone",
)
_ORDERS = (
    ("run the tests again", "pytest -q", "214 passed in 31.20s"),
    ("show me the diff", "git diff --stat", " src/app.py | 4 ++--"),
    ("Please list the branches.", "git branch", "* main\n  topic"),
    ("try once more", "pytest -q", "214 passed in 29.87s"),
    ("Can you check the version?", "python --version", "Python 3.12.7"),
    ("print the first lines of that file", "head -3 src/app.py", "import os\nimport sys\n"),
)
_REPLIES = ("Okay.", "Sure.", "Continuing.", "All right.", "No problem.", "Thanks.")


def log(rng: random.Random, lines: int) -> str:
    return "\n".join(rng.choice(_LOG).format(n=rng.randint(1000, 9999), m=rng.randint(2, 900)) for _ in range(lines))


def code(rng: random.Random) -> str:
    return rng.choice(_CODE)


def _greeting(writer: Writer) -> None:
    writer.user(writer.rng.choice(_GREETINGS))
    writer.assistant(writer.rng.choice(_ANSWERS))


def _small_talk(writer: Writer) -> None:
    writer.user(writer.rng.choice(_CHAT))
    writer.assistant(writer.rng.choice(_REPLIES))


def _explained(writer: Writer) -> None:
    writer.user(writer.rng.choice(_QUESTIONS))
    parts = writer.rng.sample(_EXPLANATIONS, writer.rng.randint(1, 2))
    writer.assistant("\n\n".join([*parts, *([code(writer.rng)] if writer.rng.random() < 0.4 else [])]))


def _pasted(writer: Writer) -> None:
    rng = writer.rng
    writer.user(f"this is what I see:\n```\n{log(rng, rng.randint(6, 25))}\n```\nis that normal?")
    writer.assistant("Yes, that is the usual output at this level. Nothing in there is out of the ordinary.")


def _looked(writer: Writer) -> None:
    rng = writer.rng
    path = rng.choice(LOOKED_AT)
    for _ in range(rng.randint(1, 3)):
        name, given, result = rng.choice(
            (
                ("Read", {"file_path": path}, code(rng)),
                ("Grep", {"pattern": "def ", "path": "src"}, "\n".join(LOOKED_AT[: rng.randint(1, 6)])),
                ("Bash", {"command": "git status --short"}, f" M {path}"),
                ("Bash", {"command": "ls"}, "\n".join(LOOKED_AT)),
            )
        )
        writer.tool(name, given, result, form=rng.choice(FORMS))
    writer.assistant(rng.choice(_EXPLANATIONS))


def _edited(writer: Writer) -> None:
    """Work of which nobody asks later, on files that are worked on all the time."""
    path = writer.rng.choice(LOOKED_AT[:6])
    given = {"file_path": path, "old_string": "a", "new_string": "b"}
    writer.tool("Edit", given, f"The file {path} has been updated.", form=writer.rng.choice(FORMS))


def _stumbled(writer: Writer) -> None:
    """A tool that failed and was used right the next moment."""
    path = writer.rng.choice(LOOKED_AT[:6])
    form = writer.rng.choice(FORMS)
    given = {"file_path": path, "old_string": "x", "new_string": "y"}
    writer.tool("Edit", given, "String to replace not found in file.", failed=True, form=form)
    writer.tool("Edit", given, f"The file {path} has been updated.", form=form)


def _ordered(writer: Writer) -> None:
    """An order that is carried out at once: nobody has to remember it."""
    order, command, output = writer.rng.choice(_ORDERS)
    writer.user(order)
    writer.tool("Bash", {"command": command}, output, form=writer.rng.choice(FORMS))
    writer.assistant("Here it is." if writer.rng.random() < 0.5 else f"That gave:\n```\n{output}\n```")


def _iterated(writer: Writer) -> None:
    results = [{"name": name, "passed": True} for name in ("format", "imports")]
    writer.verified(results, "Both checks are green.")


def _said_at_length(writer: Writer) -> None:
    writer.user("give me the long version, I have time")
    writer.assistant("\n\n".join(writer.rng.sample(_EXPLANATIONS, 4)))


SCENES: tuple[tuple[Callable[[Writer], None], int], ...] = (
    (_greeting, 2),
    (_small_talk, 6),
    (_explained, 8),
    (_pasted, 3),
    (_looked, 8),
    (_ordered, 5),
    (_edited, 2),
    (_stumbled, 1),
    (_iterated, 2),
    (_said_at_length, 2),
)


def scene(writer: Writer) -> None:
    scenes, weights = zip(*SCENES, strict=True)
    writer.rng.choices(scenes, weights)[0](writer)


def quiet_end(writer: Writer) -> None:
    """The last exchange of a round is about nothing."""
    _explained(writer)
