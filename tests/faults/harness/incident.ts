import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { effectsOf } from "./effect-log.ts";
import { partialProblems } from "./partial-text.ts";
import type { Fault, PointPlan, Sign } from "../crashes/point-plans.ts";
import type { Random } from "./scenario.ts";
import { storedProblem } from "../sequences/session-step.ts";
import { greeting, type Act, type Part, type Stage } from "./stage.ts";
import { settled } from "./subject.ts";
import { readRunStream, type RunStream } from "./run-stream.ts";
import { call, getRun, getThread, newThread, readMessages, startRun, textOf, type World } from "./world.ts";

const patience = 10_000;

/** What is wrong after incidents, by promise; and what was measured. */
export interface Verdict {
  /** Points that were not reached: nothing is known of them. */
  missed: string[];
  /** Stored histories that are not valid, or not what was sent. */
  histories: string[];
  /** Partial texts that are not what readers received. */
  partials: string[];
  /** Messages after an incident that were refused or not answered. */
  unanswered: string[];
  /** Effects that a tool began after the answer to a stop, and unsafe ones that were begun twice. */
  effects: string[];
  /** Milliseconds from a stop's request to the end of the run's stream. */
  stops: number[];
  /** Partial texts compared, and how many of them were long enough to be stored. */
  compared: { received: number; stored: number };
}

/** Nothing seen yet. */
export function noVerdict(): Verdict {
  return {
    missed: [],
    histories: [],
    partials: [],
    unanswered: [],
    effects: [],
    stops: [],
    compared: { received: 0, stored: 0 },
  };
}

/** What is to happen: `item` names it in every message, call and effect. */
export interface IncidentPlan {
  plan: PointPlan;
  fault: Fault;
  item: string;
}

/** One conversation that a fault hits at a point, from its first message to the answer of the next one. */
export class Incident {
  readonly #world: World;
  readonly #plan: PointPlan;
  readonly #fault: Fault;
  readonly #item: string;
  readonly #act: Act;
  readonly #part: Part;
  readonly #random: Random;
  readonly #verdict: Verdict;
  readonly #messages: string[] = [];
  #threadId = "";
  #runId = "";
  /** Effects of the item that had begun when a stop was answered. */
  #begunAtStop: number | undefined;

  constructor(world: World, stage: Stage, { plan, fault, item }: IncidentPlan, random: Random, verdict: Verdict) {
    this.#world = world;
    this.#plan = plan;
    this.#fault = fault;
    this.#item = item;
    this.#random = random;
    this.#verdict = verdict;
    this.#part = plan.part(item, random);
    this.#act = stage.enter(item, this.#part);
  }

  get #name(): string {
    return `${this.#item} (${this.#fault} at ${this.#plan.name})`;
  }

  get #isAtQuestion(): boolean {
    return this.#plan.sign.kind === "asked";
  }

  get #run(): { threadId: string; runId: string } {
    return { threadId: this.#threadId, runId: this.#runId };
  }

  /** Plays it; what is wrong goes into the verdict. Throws when the server fails outside of the fault. */
  async play(): Promise<void> {
    const { server } = this.#world;
    this.#threadId = await newThread(server);
    for (let turn = 0; turn < (this.#plan.before ?? 0); turn += 1) await this.#greet(`${turn + 1} times`);
    await this.#begin();
    const listening = new AbortController();
    const stream = readRunStream(
      `${server.url}/threads/${this.#threadId}/runs/${this.#runId}/stream`,
      listening.signal,
    );
    try {
      if (!(await this.#reached(stream))) {
        this.#verdict.missed.push(`${this.#name}: the model ${this.#act.isHeld() ? "is" : "is not"} held`);
      }
      await this.#strike(stream);
      this.#act.release();
      if (this.#fault === "stop" && !this.#isAtQuestion) await this.#judgePartials(stream);
      await this.#judgeMessages();
      await this.#greet("again");
      // The turn of an open question goes into the history when the conversation goes on without an answer.
      if (this.#fault === "stop") await this.#judgePartials(stream);
      await this.#judgeMessages();
      this.#judgeEffects();
    } finally {
      listening.abort();
    }
  }

  async #begin(): Promise<void> {
    const words = `please visit ${this.#plan.name} ${this.#item}`;
    await this.#send({ input: { messages: [{ role: "user", content: words }] }, context: this.#plan.context });
    this.#messages.push(words);
    const { answer } = this.#plan;
    if (answer !== undefined) {
      await settled(this.#world, this.#run, patience);
      await this.#answer(answer);
    }
  }

  async #send(body: object): Promise<void> {
    const { run_id } = await startRun(this.#world.server, this.#threadId, {
      assistant_id: this.#plan.graph,
      stream_mode: ["messages-tuple", "custom"],
      stream_resumable: true,
      ...body,
    });
    this.#runId = run_id;
  }

  #answer(type: "approve" | "reject"): Promise<void> {
    return this.#send({ command: { resume: { decisions: [{ type }] } } });
  }

  async #reached(stream: RunStream): Promise<boolean> {
    const { sign } = this.#plan;
    const deadline = performance.now() + patience;
    while (performance.now() < deadline) {
      if (await this.#shows(sign, stream)) return true;
      await delay(2);
    }
    return false;
  }

  async #shows(sign: Sign, stream: RunStream): Promise<boolean> {
    switch (sign.kind) {
      case "accepted":
        return true;
      case "held":
        return this.#act.isHeld() && newestText(stream).endsWith(this.#act.heldText);
      case "text_received":
        return newestText(stream).length >= (this.#part.receivedLength ?? 0);
      case "event_received":
        return stream.custom.some((event) => Object.entries(sign.fields).every(([key, value]) => event[key] === value));
      case "begun":
        return effectsOf(this.#world.effectsFile, this.#item).length > 0;
      case "asked":
        return (await settled(this.#world, this.#run, patience))?.waiting === true;
    }
  }

  async #strike(stream: RunStream): Promise<void> {
    switch (this.#fault) {
      case "stop":
        return await this.#stop(stream);
      case "crash":
        return await this.#crash();
      case "deny":
        await this.#answer("reject");
        await this.#rest();
    }
  }

  async #stop(stream: RunStream): Promise<void> {
    const { server, effectsFile } = this.#world;
    const requested = performance.now();
    const { status } = await call(server, "POST", `/threads/${this.#threadId}/runs/${this.#runId}/cancel`);
    this.#begunAtStop = effectsOf(effectsFile, this.#item).length;
    if (status !== 202) this.#verdict.unanswered.push(`${this.#name}: the stop was answered with ${status}`);
    const end = await Promise.race([stream.over, delay(patience)]);
    // Where a question is open the run is over, and there is nothing that could end.
    if (!this.#isAtQuestion) this.#verdict.stops.push(performance.now() - requested);
    if (end?.kind !== "complete") this.#verdict.histories.push(`${this.#name}: its stream ended as ${end?.kind}`);
  }

  async #judgePartials(stream: RunStream): Promise<void> {
    const found = partialProblems(
      stream,
      await readMessages(this.#world.server, this.#threadId),
      this.#verdict.compared,
    );
    this.#verdict.partials.push(...found.map((problem) => `${this.#name}: ${problem}`));
  }

  async #crash(): Promise<void> {
    const { server } = this.#world;
    await server.kill();
    this.#act.release();
    await server.start();
    const end = await this.#rest();
    // Sometimes the question is answered, sometimes the conversation goes on without an answer.
    if (end?.waiting !== true || this.#random.below(2) === 0) return;
    await this.#answer(this.#random.pick(["approve", "reject"]));
    await this.#rest();
  }

  async #rest(): ReturnType<typeof settled> {
    const end = await settled(this.#world, this.#run, patience);
    if (end?.status !== "success") this.#verdict.unanswered.push(`${this.#name}: the run ended as ${end?.status}`);
    return end;
  }

  /** A message that must be taken at once and answered. */
  async #greet(more: string): Promise<void> {
    const words = `hello ${this.#item} ${more}`;
    await this.#send({ input: { messages: [{ role: "user", content: words }] } });
    this.#messages.push(words);
    await this.#rest();
    const last = (await readMessages(this.#world.server, this.#threadId)).at(-1);
    if (last?.type !== "ai" || textOf(last) !== greeting(this.#item)) {
      const found = `${last?.type} ${JSON.stringify(last?.content)?.slice(0, 80)}`;
      this.#verdict.unanswered.push(`${this.#name}: the last message after "${words}" is ${found}`);
    }
  }

  async #judgeMessages(): Promise<void> {
    const { server } = this.#world;
    const messages = await readMessages(server, this.#threadId);
    const report = (problem: string): void => void this.#verdict.histories.push(`${this.#name}: ${problem}`);
    // While a question is open, the message with the call that waits stands last and has no result yet.
    const { interrupts } = await getThread(server, this.#threadId);
    const problem = storedProblem(
      Object.keys(interrupts).length > 0 && messages.at(-1)?.type === "ai" ? messages.slice(0, -1) : messages,
    );
    if (problem !== undefined) report(problem);
    const ids = messages.map(({ id }) => id);
    if (new Set(ids).size < ids.length || ids.includes(undefined)) report("message ids are missing or repeated");
    const human = messages.filter(({ type }) => type === "human").map(textOf);
    const expected = await this.#expected(human);
    if (JSON.stringify(human) !== JSON.stringify(expected)) report(`it holds ${JSON.stringify(human)}`);
  }

  /** What was sent; a run that was stopped before it began keeps its message in its row. */
  async #expected(human: readonly string[]): Promise<string[]> {
    if (this.#plan.sign.kind !== "accepted" || this.#fault !== "stop") return this.#messages;
    const [words = ""] = this.#messages;
    if (human.includes(words)) return this.#messages;
    const rows = z.object({ status: z.literal("interrupted") });
    const run = await getRun(this.#world.server, this.#threadId, this.#runId);
    const isInItsRow = rows.safeParse(run).success && JSON.stringify(run).includes(words);
    return isInItsRow ? this.#messages.filter((message) => message !== words) : this.#messages;
  }

  #judgeEffects(): void {
    const effects = effectsOf(this.#world.effectsFile, this.#item);
    if (this.#begunAtStop !== undefined && effects.length > this.#begunAtStop) {
      this.#verdict.effects.push(`${this.#name}: ${effects.slice(this.#begunAtStop).join(", ")} began after the stop`);
    }
    const unsafe = effects.filter((effect) => !effect.startsWith("set_again"));
    if (new Set(unsafe).size < unsafe.length) this.#verdict.effects.push(`${this.#name}: ${unsafe.join(", ")} began`);
  }
}

/** All that was received of the newest message. */
function newestText(stream: RunStream): string {
  const newest = [...stream.messages.values()].at(-1);
  return newest === undefined ? "" : newest.reasoning + newest.content + newest.args;
}
