"""What the page and the studio send each other: a request and an answer for every verb, typed once, here.

`web/types.mjs` makes TypeScript of it: `web/src/api.ts`.
"""
