import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { reviewCall, reviewTurn } from "../../src/guardrails/review-turn.ts";
import { callInTurn, readTurn } from "../../src/guardrails/turn.ts";
import { Dice, honestKinds, loopKinds } from "../guardrails/corpus/generate.ts";
import { honest } from "../guardrails/corpus/honest.ts";
import { loops } from "../guardrails/corpus/loops.ts";
import { isCaught, play } from "../guardrails/corpus/play.ts";
import { recordedTools } from "../guardrails/corpus/recording.ts";
import { printSections, verdict, type Figure } from "./figures.ts";

/** `npm run bench:guardrails`: the rates of the rules against loops, and what a review costs. Ends 1 when a target is missed. */
const perKind = 1000;
const seed = Number(process.env["SEED"] ?? 20_261_122);

function corpusFigures(): Figure[] {
  const missed = loops.filter((loop) => !isCaught(loop, play(loop)));
  const stopped = honest.filter((work) => play(work).stopped !== null);
  return [
    rate("recorded loops caught in time", loops.length - missed.length, loops.length, missed[0]?.name),
    rate("recorded honest work let through", honest.length - stopped.length, honest.length, stopped[0]?.name),
  ];
}

function generatedFigures(): Figure[] {
  const caught = Object.entries(loopKinds).map(([kind, make]) => {
    const missed = seeds().filter((each) => {
      const loop = make(new Dice(each));
      return !isCaught(loop, play(loop), "any rule");
    });
    return rate(`loops: ${kind}`, perKind - missed.length, perKind, missed[0]);
  });
  const letThrough = Object.entries(honestKinds).map(([kind, make]) => {
    const stopped = seeds().filter((each) => play(make(new Dice(each))).stopped !== null);
    return rate(`honest: ${kind}`, perKind - stopped.length, perKind, stopped[0]);
  });
  return [...caught, ...letThrough];
}

function seeds(): number[] {
  return Array.from({ length: perKind }, (_, at) => seed + at);
}

function rate(measure: string, good: number, of: number, firstWrong: string | number | undefined): Figure {
  const note = `${good} of ${of}${firstWrong === undefined ? "" : `; the first wrong one: ${firstWrong}`}`;
  return { measure, value: (100 * good) / of, unit: "%", min: 100, note };
}

/** One iteration's share: the turn read and reviewed before the model call, and again for one tool call. */
function costFigures(): Figure[] {
  return [5, 15, 50].map((rounds) => {
    const messages = longTurn(rounds);
    const about = { userRequest: "Read the parts.", tools: recordedTools };
    const limits = { same_failure_limit: 2, stagnation_threshold: 3 };
    const next = callInTurn("read_file", { path: "next.txt" }, recordedTools);
    const once = (): void => {
      reviewTurn(readTurn(messages, about), limits);
      reviewCall(readTurn(messages, about), next, limits);
    };
    for (let warmUp = 0; warmUp < 500; warmUp += 1) once();
    // The fastest of several: the others measure what else the machine does.
    const value = Math.min(...Array.from({ length: 10 }, () => microseconds(once, 200)));
    return { measure: `both reviews at ${rounds} rounds`, value, unit: "µs", max: 500 };
  });
}

function microseconds(work: () => void, times: number): number {
  const start = performance.now();
  for (let at = 0; at < times; at += 1) work();
  return ((performance.now() - start) * 1000) / times;
}

function longTurn(rounds: number): BaseMessage[] {
  return Array.from({ length: rounds }, (_, at) => {
    const content = `line ${at}\n`.repeat(400);
    const name = at % 3 === 0 ? "update_file" : "read_file";
    const args = { path: `part-${at}.txt`, ...(at % 3 === 0 ? { content } : {}) };
    return [
      new AIMessage({ content: "Now the next part.", tool_calls: [{ id: `call_${at}`, name, args }] }),
      new ToolMessage({ tool_call_id: `call_${at}`, name, status: "success", content }),
    ];
  }).flat();
}

const sections = [
  { title: "The corpus", figures: corpusFigures() },
  { title: `Generated, ${perKind} of each kind, from seed ${seed}`, figures: generatedFigures() },
  { title: "What an iteration pays", figures: costFigures() },
];
printSections(sections);
if (sections.some(({ figures }) => figures.some((figure) => verdict(figure) === "MISS"))) process.exitCode = 1;
