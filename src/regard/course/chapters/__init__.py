"""The exercises of each chapter: what the course asks for, and the functions that compute what is expected."""
