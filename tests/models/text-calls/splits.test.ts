import { env } from "node:process";
import fc from "fast-check";
import { expect, it } from "vitest";
import { cutReply, partsOf } from "./replies.ts";

/** `TEXT_CALL_SPLITS=100000` is the long form. */
const numRuns = Number(env["TEXT_CALL_SPLITS"] ?? 10_000);

it(
  "gives the same words, thoughts, calls and problems wherever a reply is cut into pieces",
  () => {
    fc.assert(
      fc.property(cutReply, ({ text, pieces }) => {
        expect(partsOf(...pieces)).toEqual(partsOf(text));
      }),
      { numRuns },
    );
  },
  numRuns * 10,
);

it("follows every partial call by the same call as a whole, or by its problem", () => {
  fc.assert(
    fc.property(cutReply, ({ text }) => {
      let open: string | undefined;
      for (const part of partsOf(text)) {
        const name = part.kind === "use" ? part.use.name : part.kind === "problem" ? part.problem.name : undefined;
        const begins = part.kind === "use" && part.use.partial;
        expect(open).toBe(begins ? undefined : name);
        open = begins ? name : undefined;
      }
      expect(open).toBeUndefined();
    }),
    { numRuns: 2000 },
  );
});
