"""Answers to the exercises, written as a learner would write them. Stop here unless you have tried."""
