import { beforeAll, describe, expect, it } from "vitest";
import { playAll, type Played } from "./play.ts";

let played: Played[];
beforeAll(async () => {
  played = await playAll();
});

const words = (some: readonly Played[]): string[] => some.map(({ request }) => request.say);

describe("everyday requests", () => {
  it("cost one call of the model for each round of tools and one for the reply, and no more than a plain agent", () => {
    expect(words(played.filter(({ ours, request }) => ours.calls !== request.rounds.length + 1))).toEqual([]);
    expect(words(played.filter(({ ours, plain }) => ours.calls > plain.calls))).toEqual([]);
  });

  it("end in one reply, and their tools do what they were asked", () => {
    expect(words(played.filter(({ ours }) => ours.replies !== 1))).toEqual([]);
    expect(played.flatMap(({ failures }) => failures)).toEqual([]);
  });

  it("are planned only where the person asks for a plan", () => {
    const planned = played.filter(({ first }) => first.isPlanned);
    expect(words(planned)).toEqual(words(played.filter(({ request }) => request.asksForPlan === true)));
    expect(planned).toHaveLength(1);
  });

  it("send at most a tenth more than a plain agent with the same tools", () => {
    const tokens = (side: "ours" | "plain"): number => played.reduce((sum, { [side]: cost }) => sum + cost.tokens, 0);
    expect(tokens("ours") / tokens("plain")).toBeLessThanOrEqual(1.1);
  });

  it("begin with a short system text: a greeting at most 300 tokens, with the everyday tools at most 2,500 in all", () => {
    const first = played.filter((one) => one.first.isNew).map((one) => one.first);
    expect(Math.max(...first.filter(({ tools }) => tools === 0).map(({ system }) => system))).toBeLessThanOrEqual(300);
    expect(Math.max(...first.filter(({ tools }) => tools > 0 && tools <= 12).map(({ whole }) => whole))).toBeLessThan(
      2500,
    );
  });
});
