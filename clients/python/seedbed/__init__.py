"""Seedbed: long-term memory for LLM agents."""
