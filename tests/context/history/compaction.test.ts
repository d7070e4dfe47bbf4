import {
  isAIMessage,
  isHumanMessage,
  isToolMessage,
  AIMessage,
  HumanMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compactedHistory } from "../../../src/context/compression/compacted.ts";
import {
  planCompaction,
  toleratedRatio,
  usage,
  visibleTokens,
  type CompactionPlan,
} from "../../../src/context/compression/compaction.ts";
import { fitSummary, plainSummary } from "../../../src/context/compression/compress.ts";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import type { ConversationSummary } from "../../../src/state.ts";
import { strictProblems } from "../../loop/model-call/strict-provider.ts";
import { systemText } from "../../support/system-text.ts";
import { randomHistory } from "./random-history.ts";
import { toWire } from "./random-messages.ts";

/** `HISTORIES=10000 vitest run tests/context/history/compaction.test.ts` is the long form. */
const runs = Number(process.env["HISTORIES"] ?? 1500);

const answers = {
  plain: (plan: CompactionPlan, before: ConversationSummary | null) => plainSummary(plan.removed, before),
  talkative: () => ({
    goal: "字".repeat(3000),
    completed: Array<string>(40).fill("done and done"),
    todo: [],
    attempted_solutions: [],
    current_problem: "",
    key_decisions: [],
  }),
};

/** What the compress node does with a plan. */
function carryOut(
  plan: CompactionPlan,
  before: ConversationSummary | null,
  by: keyof typeof answers = "plain",
): ConversationSummary {
  const { through_message_id, shown } = plan;
  return { ...fitSummary(answers[by](plan, before)), through_message_id, shown };
}

const textsOf = (messages: readonly BaseMessage[]): string[] => messages.map(({ text }) => text);
const idsOf = (messages: readonly BaseMessage[]): (string | undefined)[] => messages.map(({ id }) => id);

describe("any compression of any history", () => {
  const limits = fc.integer({ min: 3000, max: 12_000 });
  const by = fc.constantFrom("plain" as const, "talkative" as const);

  it("ends valid and in order, below the target, with the last request word for word, and the second time changes nothing", () => {
    fc.assert(
      fc.property(randomHistory, limits, by, (history, limit, summariser) => {
        const before = textsOf(history);
        const plan = planCompaction(history, null, { limit });
        if (plan === null) return;
        const summary = carryOut(plan, null, summariser);
        const visible = compactedHistory(history, summary);
        expect(textsOf(history)).toEqual(before);
        expect(repairToolPairs(visible)).toBe(visible);
        const ids = idsOf(history);
        const places = idsOf(visible).map((id) => ids.indexOf(id));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        const request = history.findLast((message) => isHumanMessage(message));
        expect(visible).toContain(request);
        // As it is sent: the summary stands in the system text, whose own words stay as they are.
        const context = { summary, facts: {} };
        const system = systemText({ context });
        expect(system.startsWith(systemText({ context: { summary: null, facts: {} } }))).toBe(true);
        expect(system).toContain(JSON.stringify(summary.goal));
        expect(strictProblems([{ role: "system", content: system }, ...toWire(visible)])).toEqual([]);
        expect(plan.attempts).toBeLessThanOrEqual(3);
        // Only the user's own words can keep it above.
        const allowed = Math.max(toleratedRatio * limit, visibleTokens([request as BaseMessage], null) + 1900);
        expect(visibleTokens(history, summary)).toBeLessThanOrEqual(allowed + (summariser === "talkative" ? 670 : 0));
        const again = planCompaction(history, summary, { limit });
        expect(again === null || again.shown.level !== plan.shown.level).toBe(true);
        if (summariser === "plain") expect(again).toBeNull();
      }),
      { numRuns: runs },
    );
  }, 600_000);

  it("stays true when the conversation goes on and is compressed again, with messages that were to be kept", () => {
    fc.assert(
      fc.property(randomHistory, randomHistory, limits, fc.nat(), (first, second, limit, choice) => {
        const wanted = first[choice % first.length]?.id ?? "";
        const plan = planCompaction(first, null, { limit, keep: 5, keepIds: [wanted] });
        if (plan === null) return;
        const summary = carryOut(plan, null);
        expect(idsOf(compactedHistory(first, summary))).toContain(wanted);
        const later = second.map((message) => Object.assign(message, { id: `later-${message.id}` }));
        const history = [...first, ...later];
        const visible = compactedHistory(history, summary);
        expect(visible.slice(-later.length)).toEqual(later);
        expect(repairToolPairs(visible)).toBe(visible);
        const next = planCompaction(history, summary, { limit });
        if (next === null) return;
        const shown = compactedHistory(history, carryOut(next, summary));
        expect(repairToolPairs(shown)).toBe(shown);
        if (next.shown.level !== "extreme") expect(idsOf(shown)).toContain(wanted);
      }),
      { numRuns: runs / 5 },
    );
  }, 600_000);
});

const code = (lines: number): string =>
  ["```ts", ...Array.from({ length: lines }, (_, at) => `line ${at}`), "```"].join("\n");

/** How many characters of a text are left, by its note of what is left out. */
const leftOf = (whole: string, cut: string): number =>
  whole.length - Number(/\[… (\d+) characters left out …\]/u.exec(cut)?.[1] ?? 0);

/** Twelve turns of a request and a reply, `size` characters each. */
function talk(size: number, turns = 12): BaseMessage[] {
  return Array.from({ length: turns }, (_, at) => [
    new HumanMessage({ id: `h${at}`, content: `Question ${at} ${"x".repeat(size)}` }),
    new AIMessage({
      id: `a${at}`,
      content: `Answer ${at} ${"y".repeat(size)}`,
      additional_kwargs: { reasoning_content: `thought ${at}` },
    }),
  ]).flat();
}

describe("the levels", () => {
  const asked = new HumanMessage({ id: "now", content: "And now?" });

  it.each([
    { name: "3 messages in full when that is enough", size: 300, limit: 3000, level: "normal", attempts: 1, kept: 3 },
    {
      name: "2 cut to 200 characters where a little is missing",
      size: 1450,
      limit: 4300,
      level: "secondary",
      attempts: 2,
      kept: 2,
    },
    {
      name: "1 and the summary where much is missing",
      size: 4000,
      limit: 4000,
      level: "extreme",
      attempts: 2,
      kept: 1,
    },
  ])("keep $name", ({ size, limit, level, attempts, kept }) => {
    const history = [...talk(size), asked];
    const plan = planCompaction(history, null, { limit });
    expect(plan).toMatchObject({ shown: { level }, attempts });
    expect(plan?.kept).toHaveLength(kept);
    const summary = carryOut(plan as CompactionPlan, null);
    const visible = compactedHistory(history, summary);
    expect(visible.at(-1)).toBe(asked);
    const longest = Math.max(...textsOf(visible).map(({ length }) => length));
    expect(longest).toBeLessThanOrEqual(level === "normal" ? size + 20 : level === "secondary" ? 260 : 160);
    if (level === "secondary") expect(leftOf(history.at(-2)?.text ?? "", visible[0]?.text ?? "")).toBe(200);
    expect(usage(history, summary, limit).ratio).toBeLessThanOrEqual(toleratedRatio);
  });

  it("cut a reply to 100 characters at the last level, and never the request before it (COMP-09)", () => {
    const history = talk(4000);
    const plan = planCompaction(history, null, { limit: 4400 }) as CompactionPlan;
    expect(plan.shown.level).toBe("extreme");
    const [request, reply] = compactedHistory(history, carryOut(plan, null));
    expect(request).toBe(history.at(-2));
    expect(leftOf(history.at(-1)?.text ?? "", reply?.text ?? "")).toBe(100);
  });

  it("show the ten messages before the kept ones in a line each, and the changes of files once, but not at the extreme level", () => {
    const call = (id: string, path: string) => [
      new AIMessage({ id: `c${id}`, content: "", tool_calls: [{ id, name: "update_file", args: { path } }] }),
      new ToolMessage({
        id: `r${id}`,
        tool_call_id: id,
        name: "update_file",
        content: "Done.",
        additional_kwargs: { operations: [{ type: id === "3" ? "delete" : "modify", path }] },
      }),
    ];
    const history = [...call("1", "a.md"), ...call("2", "b.md"), ...call("3", "a.md"), ...talk(10, 4), asked];
    const plan = planCompaction([new HumanMessage({ id: "begin", content: "Begin" }), ...history], null, {
      limit: 10_000,
    });
    expect(plan?.shown.operations).toEqual(["modify b.md", "delete a.md"]);
    expect(plan?.shown.earlier).toHaveLength(10);
    expect(plan?.shown.earlier.slice(0, 2)).toEqual(["assistant: calls update_file", "update_file: Done."]);
    expect(plan?.shown.earlier.at(-1)).toMatch(/^assistant: Answer 2 y+$/u);
    const text = systemText({ context: { summary: carryOut(plan as CompactionPlan, null), facts: {} } });
    expect(text).toContain(`What was said just before:\n${plan?.shown.earlier.join("\n")}`);
    expect(text).toContain("Files changed: modify b.md; delete a.md");
    const hard = planCompaction([...history.slice(2), ...talk(9000), asked], null, { limit: 6000 });
    expect(hard?.shown).toMatchObject({ level: "extreme", earlier: [] });
  });

  it("keep at most three changes for each message that is kept", () => {
    const results = Array.from({ length: 40 }, (_, at) => [
      new AIMessage({ id: `c${at}`, content: "", tool_calls: [{ id: `${at}`, name: "create_file", args: {} }] }),
      new ToolMessage({
        id: `r${at}`,
        tool_call_id: `${at}`,
        content: "Done.",
        additional_kwargs: { operations: [{ type: "create", path: `f${at}` }] },
      }),
    ]).flat();
    const plan = planCompaction([...results, ...talk(10, 3), asked], null, { limit: 20_000 });
    expect(plan?.kept).toHaveLength(3);
    expect(plan?.shown.operations).toHaveLength(9);
    expect(plan?.shown.operations.at(-1)).toBe("create f39");
  });

  it("clear the reasoning of all but the newest reply, and of that one too beyond the first level", () => {
    const thoughts = (messages: BaseMessage[]): unknown[] =>
      messages.filter(isAIMessage).flatMap(({ additional_kwargs: { reasoning_content } }) => reasoning_content ?? []);
    const history = [...talk(50), asked];
    const wish = { limit: 10_000, keep: 10, keepIds: [] };
    const plan = planCompaction(history, null, wish) as CompactionPlan;
    expect(thoughts(compactedHistory(history, carryOut(plan, null)))).toEqual(["thought 11"]);
    const hard = planCompaction(
      history.map((one) => one),
      null,
      { limit: 100 },
    ) as CompactionPlan;
    expect(thoughts(compactedHistory(history, carryOut(hard, null)))).toEqual([]);
    expect(thoughts(history)).toHaveLength(12);
  });
});

describe("what must be kept (MSG-05, COMP-03)", () => {
  const goals = [
    new AIMessage({ id: "goals", content: `The design goals: gain 20 dB. ${"g".repeat(400)}` }),
    new HumanMessage({ id: "yes", content: "Yes." }),
  ];
  const asked = new HumanMessage({ id: "now", content: "And now?" });

  it("is what was agreed on: it stays through compressions as long as there is room for anything", () => {
    const history = [...talk(300, 4), ...goals, ...talk(300).slice(8), asked];
    const plan = planCompaction(history, null, { limit: 5000 }) as CompactionPlan;
    expect(plan.shown).toMatchObject({ level: "normal", kept_message_ids: ["goals", "yes"] });
    expect(compactedHistory(history, carryOut(plan, null)).slice(0, 2)).toEqual(goals);
    const more = [...history, ...talk(300, 6).map((one) => Object.assign(one, { id: `more-${one.id}` }))];
    const next = planCompaction(more, carryOut(plan, null), { limit: 5000 }) as CompactionPlan;
    expect(idsOf(compactedHistory(more, carryOut(next, carryOut(plan, null)))).slice(0, 2)).toEqual(["goals", "yes"]);
    const tight = planCompaction(history, null, { limit: 300 }) as CompactionPlan;
    expect(tight.shown).toMatchObject({ level: "extreme", kept_message_ids: [] });
  });

  it("is cut to 200 characters at the second level, and the newest ten of it are kept", () => {
    const history = [...goals, ...talk(1450), asked];
    const plan = planCompaction(history, null, { limit: 5000 }) as CompactionPlan;
    expect(plan.shown.level).toBe("secondary");
    const [first] = compactedHistory(history, carryOut(plan, null));
    expect(first?.id).toBe("goals");
    expect(first?.text.length).toBeLessThanOrEqual(260);
    const many = Array.from({ length: 12 }, (_, at) =>
      goals.map((one) =>
        Object.assign(one.getType() === "ai" ? new AIMessage("The design goals: less") : new HumanMessage("ok"), {
          id: `${one.id}-${at}`,
        }),
      ),
    ).flat();
    const often = planCompaction([...many, ...talk(10), asked], null, { limit: 100_000, keep: 5 });
    expect(often?.shown.kept_message_ids).toHaveLength(10);
    expect(often?.shown.kept_message_ids.at(-1)).toBe("yes-11");
  });
});

describe("a compression that a person wants", () => {
  it("keeps as many messages as they say, the last three in full and the older ones cut, code first", () => {
    const history = talk(2000);
    const coded = new AIMessage({ id: "a9", content: `Look:\n${code(60)}` });
    history[19] = coded;
    const plan = planCompaction(history, null, { limit: 100_000, keep: 10 }) as CompactionPlan;
    expect(plan.shown.level).toBe("normal");
    const visible = compactedHistory(history, carryOut(plan, null));
    expect(visible).toHaveLength(10);
    expect(textsOf(visible.slice(-3))).toEqual(textsOf(history.slice(-3)));
    for (const { text } of visible.slice(0, -3)) expect(text.length).toBeLessThanOrEqual(560);
    expect(leftOf(history[14]?.text ?? "", visible[0]?.text ?? "")).toBe(500);
    const cut = visible.find(({ id }) => id === "a9")?.text ?? "";
    expect(cut).toContain("line 19\n[… 40 lines left out …]\n```");
    expect(coded.text).toContain("line 59");
  });

  it("keeps the messages they name as they are, with the results that belong to them, through later compressions too", () => {
    const asks = new AIMessage({ id: "asks", content: "", tool_calls: [{ id: "c", name: "read_file", args: {} }] });
    const result = new ToolMessage({ id: "result", tool_call_id: "c", content: "z".repeat(3000) });
    const history = [new HumanMessage({ id: "begin", content: "Begin" }), asks, result, ...talk(100)];
    const plan = planCompaction(history, null, { limit: 50_000, keep: 5, keepIds: ["result"] }) as CompactionPlan;
    const summary = carryOut(plan, null);
    expect(compactedHistory(history, summary).slice(0, 2)).toEqual([asks, result]);
    const more = [...history, ...talk(100).map((one) => Object.assign(one, { id: `more-${one.id}` }))];
    const next = planCompaction(more, summary, { limit: 50_000 }) as CompactionPlan;
    expect(idsOf(compactedHistory(more, carryOut(next, summary))).slice(0, 2)).toEqual(["asks", "result"]);
  });

  it("never hides the user's last request", () => {
    const many = Array.from({ length: 30 }, (_, at) => new AIMessage({ id: `r${at}`, content: `Part ${at}` }));
    const request = new HumanMessage({ id: "request", content: "Do it" });
    const history = [...talk(20, 2), request, ...many];
    const plan = planCompaction(history, null, { limit: 50_000, keep: 5 }) as CompactionPlan;
    const visible = compactedHistory(history, carryOut(plan, null));
    expect(visible[0]).toBe(request);
    expect(visible.filter(isToolMessage)).toEqual([]);
  });
});
