import type { Play, Wire } from "../../models/faults/fault-server.ts";
import { faults, type Fault } from "../../models/faults/fault-table.ts";
import type { Random } from "../harness/scenario.ts";

/** Faults of the server itself: those of the address need another server. */
const played: readonly Fault[] = faults.filter(({ address }) => address === undefined);
/** Of ten answers so many are wrong. */
const wrongOfTen = 6;
const maxAnswers = 5;
/** Turns of a sequence, before the last one, in which nothing goes wrong. */
const turns = 2;

/** One answer of a model. */
export interface PlannedAnswer {
  /** The fault's name, or what a good answer is. */
  name: string;
  play: Play;
}

/** One session, its turns, and what the models that it asks will answer. */
export interface ModelSequence {
  index: number;
  turns: { isStreamed: boolean; retries: number; hasFallback: boolean }[];
  /** `provider:model` of the model that is asked, and of the one that stands in for it. */
  model: string;
  fallback: string;
  /** What each model answers, one by one; then all is well. By the name without the provider. */
  answers: Map<string, PlannedAnswer[]>;
}

/** Names of everything that may go wrong. */
export const faultNames: readonly string[] = played.map(({ name }) => name);

/** Sequences by chance. */
export function planSequences(count: number, random: Random): ModelSequence[] {
  const fault = dealer(random);
  return Array.from({ length: count }, (_, index) => {
    const main = modelOf(`s${index}`, random);
    const other = modelOf(`s${index}-other`, random);
    return {
      index,
      turns: Array.from({ length: turns }, () => ({
        isStreamed: random.below(3) > 0,
        // A further try waits a second.
        retries: random.below(8) === 0 ? 1 : 0,
        hasFallback: random.below(3) === 0,
      })),
      model: `${main.provider}:${main.name}`,
      fallback: `${other.provider}:${other.name}`,
      answers: new Map([main, other].map(({ name }) => [name, answersOf(name, fault, random)])),
    };
  });
}

/** OpenAI's client asks a Codex through `/responses`. */
function modelOf(name: string, random: Random): { provider: string; name: string } {
  const wire = random.pick<Wire>(["openai", "responses", "ollama"]);
  return wire === "responses" ? { provider: "openai", name: `${name}-codex` } : { provider: wire, name };
}

/** Gives the faults in an order by chance, again and again, so that a few sequences have many kinds. */
function dealer(random: Random): () => Fault {
  let rest = [...played];
  return () => {
    if (rest.length === 0) rest = [...played];
    const next = random.pick(rest);
    rest = rest.filter((fault) => fault !== next);
    return next;
  };
}

function answersOf(model: string, fault: () => Fault, random: Random): PlannedAnswer[] {
  return Array.from({ length: 1 + random.below(maxAnswers) }, (_, at) =>
    random.below(10) < wrongOfTen ? fault() : goodAnswer(`whole-${model}-${at}.txt`, random),
  );
}

/** Where a file comes to be, a call was whole. */
function goodAnswer(path: string, random: Random): PlannedAnswer {
  const call = { name: "create_file", arguments: { path, content: "whole" } };
  if (random.below(2) === 0) return { name: "a call", play: (exchange) => exchange.answer({ toolCalls: [call] }) };
  return { name: "words", play: (exchange) => exchange.answer({ text: "These are the words of a whole answer." }) };
}
