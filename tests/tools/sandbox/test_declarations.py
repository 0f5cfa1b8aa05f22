"""What a module must declare, and how a bad one is told with its file and line (T-11)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.tools.policy import Risk
from app.tools.sandbox.description import Exposure
from app.tools.sandbox.errors import BadTool, ToolFailed, ToolRefused
from app.tools.sandbox.sandbox import Sandbox
from desk_tool import Risk as DeclaredRisk
from tests.tools.sandbox.conftest import one_order

GOOD = """from pydantic import BaseModel, Field
from desk_tool import Arguments, declare


class Args(Arguments):
    count: int = Field(ge=1, description="How many.")
    label: str = "none"


@declare(name="count_up", description="Counts.", risk="read", arguments=Args)
async def run(args, desk):
    return list(range(args.count))
"""


def module(folder: Path, text: str) -> Path:
    path = folder / "the_tool.py"
    path.write_text(text)
    return path


async def test_a_good_module_is_described_without_being_imported(strongest: Sandbox, folder: Path) -> None:
    """T-11: at boot neither."""
    path = module(folder, GOOD)
    described = await strongest.describe(path)
    assert (described.name, described.risk, described.exposure) == ("count_up", Risk.READ, "open")
    assert described.llm_callable
    assert described.parameters["properties"]["count"]["minimum"] == 1
    assert described.parameters["additionalProperties"] is False
    assert not any(getattr(loaded, "__file__", None) == str(path) for loaded in list(sys.modules.values()))


async def test_all_that_is_declared_is_told(strongest: Sandbox, folder: Path) -> None:
    """T-5, T-11."""
    words = 'risk="financial", exposure="requires-confirmation", llm_callable=False, prompt="Pay?", reason="Costs."'
    described = await strongest.describe(module(folder, GOOD.replace('risk="read"', words)))
    assert (described.risk, described.exposure) == (Risk.FINANCIAL, "requires-confirmation")
    assert (described.llm_callable, described.prompt, described.reason) == (False, "Pay?", "Costs.")


def test_the_author_s_words_are_the_policy_s() -> None:
    """T-1, T-5: one vocabulary, written down on both sides of the pipe."""
    import desk_tool

    assert set(DeclaredRisk.__args__) == {risk.value for risk in Risk}  # type: ignore[attr-defined]
    assert desk_tool.Exposure == Exposure


BAD = [
    ("syntax", "async def run(args, desk):", "async def run(args, desk", 11, "is not valid Python"),
    ("import", "from pydantic import", "import no_such_package\nfrom pydantic import", 1, "No module named"),
    ("raises", "class Args(Arguments):", "1 / 0\nclass Args(Arguments):", 5, "ZeroDivisionError"),
    ("declares nothing", '@declare(name="count_up", description="Counts.", risk="read", arguments=Args)\n', "", 1,
     "declares 0 tools"),
    ("declares two", "\n\n\nclass Args", "\n\n\nclass Args", 15, "declares 2 tools"),
    ("name", '"count_up"', '"Count-Up"', 10, "name must match"),
    ("risk", '"read"', '"harmless"', 10, "risk must be one of read, write, unknown"),
    ("no risk", 'risk="read", ', "", 10, "risk"),
    ("exposure", 'risk="read"', 'risk="read", exposure="public"', 10, "exposure must be one of open"),
    ("description", '"Counts."', '" "', 10, "description must be a text"),
    ("no model", "arguments=Args", "arguments=dict", 10, "arguments must be a Pydantic model"),
    ("loose model", "class Args(Arguments)", "class Args(BaseModel)", 10, "must refuse unknown fields"),
    ("sync", "async def run", "def run", 10, "must be async"),
    ("parameters", "run(args, desk)", "run(args)", 10, "takes 1 parameters"),
    ("exits", "class Args(Arguments):", "raise SystemExit\nclass Args(Arguments):", 5, "imported: SystemExit"),
    ("desk", "from desk_tool", "import app.main\nfrom desk_tool", 2, "No module named 'app'"),
]  # fmt: skip


@pytest.mark.parametrize("row", BAD, ids=[row[0] for row in BAD])
async def test_a_bad_module_is_told_with_file_line_and_what_is_allowed(
    strongest: Sandbox, folder: Path, row: tuple[str, str, str, int, str]
) -> None:
    """T-11."""
    _, old, new, line, told = row
    text = GOOD.replace(old, new)
    if told == "declares 2 tools":
        text += GOOD[GOOD.index("\n\n@declare") :].replace("def run", "def again")
    path = module(folder, text)
    with pytest.raises(BadTool) as bad:
        await strongest.describe(path)
    assert (bad.value.file, bad.value.line) == (path, line)
    assert told in bad.value.message
    assert str(bad.value).startswith(f"{path}:{line}: ")


async def test_a_module_that_never_finishes_loading_is_told(hurried: Sandbox, folder: Path) -> None:
    """T-11: the limits hold at boot too."""
    with pytest.raises(BadTool, match="could not be loaded: It took longer"):
        await hurried.describe(module(folder, "import time\ntime.sleep(3600)\n"))


async def test_a_description_made_up_past_the_library_is_checked_again(strongest: Sandbox, folder: Path) -> None:
    """T-11: the sandbox's word is the tool's word."""
    forged = 'import os\nfor fd in range(3, 64):\n    try: os.write(fd, b\'{"described": {"risk": "none"}}\\n\')\n'
    text = forged + "    except OSError: pass\nimport time\ntime.sleep(60)\n"
    with pytest.raises(BadTool, match=r"describes itself wrongly: .*name.*risk"):
        await strongest.describe(module(folder, text))


async def test_arguments_are_checked_by_the_tool_s_model(strongest: Sandbox, folder: Path) -> None:
    """T-11, SEC-4: fields and rules are named, values are not repeated."""
    path = module(folder, GOOD)
    assert await strongest.validate(path, {"count": 2}) == {"count": 2, "label": "none"}
    for args, told in (
        ({"count": 0}, "count: Input should be greater than or equal to 1 (greater_than_equal)"),
        ({"count": "2"}, "count: Input should be a valid integer (int_type)"),
        ({"count": 1, "secret-value": 1}, "secret-value: Extra inputs are not permitted (extra_forbidden)"),
        ({}, "count: Field required (missing)"),
    ):
        with pytest.raises(ToolRefused) as refused:
            await strongest.validate(path, args)
        assert refused.value.message == told
    with pytest.raises(ToolFailed, match="The arguments do not fit: count"):
        await strongest.run(path, {"count": 0}, one_order)
    assert await strongest.run(path, {"count": 2}, one_order) == [0, 1]


async def test_a_module_that_changed_for_the_worse_fails_the_call(strongest: Sandbox, folder: Path) -> None:
    """T-11."""
    path = module(folder, GOOD.replace("async def", "def"))
    with pytest.raises(ToolFailed, match="The module no longer loads: line 10: "):
        await strongest.run(path, {"count": 1}, one_order)


async def test_a_scratch_folder_is_there_and_gone_afterwards(sandbox: Sandbox, folder: Path) -> None:
    """T-11: writes: a scratch folder, the working directory."""
    body = (
        '    from pathlib import Path\n    Path("note").write_text("kept")\n'
        '    return [Path("note").read_text(), [p.name for p in Path(".").iterdir()]]\n'
    )
    path = module(folder, GOOD.replace("    return list(range(args.count))\n", body))
    for _ in range(2):
        assert await sandbox.run(path, {"count": 1}, one_order) == ["kept", ["note"]]
