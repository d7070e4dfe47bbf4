import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { ServerProcess } from "../support/server-process.ts";
import { storedProblem, type Step } from "./session-step.ts";
import { ask, call, getRun, getThread, listRuns, newThread, readMessages, textOf, type StateMessage } from "./world.ts";

/**
 * What must have become of an accepted message. `kept`: it stands in the history. `stopped`: there too, or, when its run was
 * stopped before it began, in the row of that run. `removed`: somebody asked for its removal, it may be gone.
 */
type Fate = "kept" | "stopped" | "removed";

interface Sent {
  text: string;
  runId: string;
  fate: Fate;
}

const History = z.array(
  z.looseObject({
    checkpoint: z.looseObject({ checkpoint_id: z.string() }),
    values: z.looseObject({ messages: z.array(z.looseObject({ content: z.unknown() })).default([]) }).nullish(),
  }),
);
const Started = z.looseObject({ run_id: z.string() });
const patience = 20_000;

/** One session under a sequence of steps, and what its history must be in the end. */
export class SessionModel {
  /** Messages the server has accepted. */
  accepted = 0;
  readonly #server: ServerProcess;
  readonly #name: string;
  readonly #problems: string[] = [];
  #thread = "";
  #sent: Sent[] = [];

  constructor(server: ServerProcess, name: string) {
    this.#server = server;
    this.#name = name;
  }

  /** Plays the steps, then one more message that must be answered. Gives what was wrong. */
  async play(steps: readonly Step[]): Promise<string[]> {
    this.#thread = await newThread(this.#server);
    for (const step of steps) {
      await this.#do(step);
      const running = (await listRuns(this.#server, this.#thread)).filter(({ status }) => status === "running");
      if (running.length > 1) this.#problems.push(`${running.length} runs are running after ${step.kind}`);
    }
    await this.#rested();
    await this.#send("enqueue", "short");
    await this.#rested();
    await this.#judge();
    return this.#problems;
  }

  async #do(step: Step): Promise<void> {
    switch (step.kind) {
      case "send":
        return this.#send(step.strategy, step.words);
      case "stop":
        return this.#stop(step.action);
      case "approve":
        return this.#approve(step.yes);
      case "fork":
        return this.#fork(step.back);
      case "copy":
        return this.#copy();
      case "delete":
        return this.#delete();
      case "pause":
        await delay(step.milliseconds);
    }
  }

  async #unfinished(): Promise<string[]> {
    const runs = await listRuns(this.#server, this.#thread);
    return runs.filter(({ status }) => status === "pending" || status === "running").map(({ run_id }) => run_id);
  }

  /** Starts a run; the id of one that was accepted. An answer of 500 and above is a fault, one of 400 and above a no. */
  async #start(body: object): Promise<string | undefined> {
    const answer = await call(this.#server, "POST", `/threads/${this.#thread}/runs`, {
      assistant_id: "watched",
      ...body,
    });
    if (answer.status >= 500) this.#problems.push(`a run was answered with ${answer.status}`);
    return answer.status < 300 ? Started.parse(answer.body).run_id : undefined;
  }

  async #send(strategy: string, words: string, more: object = {}): Promise<void> {
    const before = await this.#unfinished();
    const text = `${this.#name} message ${this.#sent.length} ${words}`;
    const runId = await this.#start({
      input: { messages: [{ role: "user", content: text }] },
      multitask_strategy: strategy,
      ...more,
    });
    if (runId === undefined) return;
    this.accepted += 1;
    if (strategy === "interrupt") this.#mark(before, "stopped");
    if (strategy === "rollback") this.#mark(before, "removed");
    this.#sent.push({ text, runId, fate: "kept" });
  }

  #mark(runIds: readonly string[], fate: Fate): void {
    for (const sent of this.#sent) if (runIds.includes(sent.runId) && sent.fate !== "removed") sent.fate = fate;
  }

  async #stop(action: "interrupt" | "rollback"): Promise<void> {
    const [newest] = await this.#unfinished();
    if (newest === undefined) return;
    const path = `/threads/${this.#thread}/runs/${newest}/cancel?action=${action}`;
    const { status } = await call(this.#server, "POST", path);
    if (status >= 500) this.#problems.push(`a stop was answered with ${status}`);
    // Whether later queued runs go with it is the server's choice; none of them may vanish.
    this.#mark(await this.#unfinished(), "stopped");
    this.#mark([newest], action === "rollback" ? "removed" : "stopped");
  }

  async #approve(yes: boolean): Promise<void> {
    const thread = await getThread(this.#server, this.#thread);
    if (thread.status !== "interrupted" || Object.keys(thread.interrupts).length === 0) return;
    const decision = yes ? { type: "approve" } : { type: "reject", message: "no" };
    await this.#start({ command: { resume: { decisions: [decision] } } });
  }

  /** A message at an older checkpoint: what was said after that is another branch. */
  async #fork(back: number): Promise<void> {
    if ((await this.#unfinished()).length > 0) return;
    const history = History.parse(await ask(this.#server, "GET", `/threads/${this.#thread}/history?limit=10`));
    const state = history[Math.min(back, history.length - 1)];
    if (state === undefined) return;
    const texts = (state.values?.messages ?? []).map(({ content }) => content);
    for (const sent of this.#sent) if (!texts.includes(sent.text)) sent.fate = "removed";
    await this.#send("reject", "short", { checkpoint_id: state.checkpoint.checkpoint_id });
  }

  async #copy(): Promise<void> {
    if ((await this.#unfinished()).length > 0) return;
    const copy = z.looseObject({ thread_id: z.string() });
    const { thread_id: id } = copy.parse(await ask(this.#server, "POST", `/threads/${this.#thread}/copy`));
    const [own, other] = await Promise.all([this.#thread, id].map((thread) => readMessages(this.#server, thread)));
    if (JSON.stringify(own) !== JSON.stringify(other)) this.#problems.push("a copy holds other messages");
    await ask(this.#server, "DELETE", `/threads/${id}`);
  }

  async #delete(): Promise<void> {
    await ask(this.#server, "DELETE", `/threads/${this.#thread}`);
    const { status } = await call(this.#server, "GET", `/threads/${this.#thread}/state`);
    if (status !== 404) this.#problems.push(`a deleted session was answered with ${status}`);
    this.#sent = [];
    this.#thread = await newThread(this.#server);
  }

  async #rested(): Promise<void> {
    const deadline = performance.now() + patience;
    while ((await this.#unfinished()).length > 0) {
      if (performance.now() > deadline) throw new Error(`its runs were not over after ${patience} ms`);
      await delay(15);
    }
  }

  async #judge(): Promise<void> {
    const messages = await readMessages(this.#server, this.#thread);
    const problem = storedProblem(messages);
    if (problem !== undefined) this.#problems.push(`the history is not valid: ${problem}`);
    const asked = messages.filter(({ type }) => type === "human").map(textOf);
    const known = this.#sent.map(({ text }) => text).filter((text) => asked.includes(text));
    // Every message once, in the order in which they were accepted, and nothing else.
    if (JSON.stringify(asked) !== JSON.stringify(known)) {
      this.#problems.push(`the history holds ${JSON.stringify(asked)}, accepted were ${JSON.stringify(known)}`);
    }
    for (const sent of this.#sent) if (!asked.includes(sent.text)) await this.#judgeAbsent(sent);
    this.#judgeLast(messages.at(-1));
  }

  async #judgeAbsent({ text, runId, fate }: Sent): Promise<void> {
    if (fate === "removed") return;
    const run = await getRun(this.#server, this.#thread, runId);
    const isInItsRow = fate === "stopped" && run?.status === "interrupted" && JSON.stringify(run).includes(text);
    if (!isInItsRow) this.#problems.push(`"${text}" is lost (${fate}, its run: ${run?.status ?? "none"})`);
  }

  #judgeLast(last: StateMessage | undefined): void {
    const expected = `Answer to ${this.#sent.at(-1)?.text}:`;
    if (last?.type !== "ai" || !textOf(last).startsWith(expected)) {
      this.#problems.push(`the last message is ${last?.type} ${JSON.stringify(last?.content)?.slice(0, 100)}`);
    }
  }
}
