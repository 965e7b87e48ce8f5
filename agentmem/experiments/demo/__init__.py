"""The demo: a scripted agent without a model, really run through the library and followed like any other."""

from agentmem.experiments.demo.agent import DEMO_RUN, play

__all__ = ["DEMO_RUN", "play"]
