"""vLLM generates in the process of its engine, which is its default. With `graphs` the model is
compiled, in pieces that are captured as graphs."""

from __future__ import annotations

from serving import WORDS, engine_of, generate, tell_serving

if __name__ == "__main__":  # the engine's process may import this file
    engine = engine_of()
    tell_serving(engine, generate(engine), WORDS)
