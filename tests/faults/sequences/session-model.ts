import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { editProblems, messagesAt, prepareEdit, readPast, type EditWay } from "./session-edit.ts";
import { storedProblem, type Step } from "./session-step.ts";
import {
  ask,
  call,
  getRun,
  getThread,
  listRuns,
  newThread,
  readMessages,
  textOf,
  type Addressed,
  type StateMessage,
} from "../harness/world.ts";

/**
 * The required outcome of an accepted message. `kept`: it stands in the history. `stopped`: there too, or, when its run was
 * stopped before it began, in the row of that run. `removed`: a client asked for its removal, it may be gone.
 */
type Fate = "kept" | "stopped" | "removed";

interface Sent {
  text: string;
  runId: string;
  fate: Fate;
}

const Started = z.looseObject({ run_id: z.string() });
const patience = 20_000;

/** One session under a sequence of steps, and what its history must be in the end. */
export class SessionModel {
  /** Messages the server has accepted. */
  accepted = 0;
  /** How many steps of each kind did something; the others came at a moment when there was nothing to do. */
  readonly done = new Map<Step["kind"], number>();
  readonly #server: Addressed;
  readonly #name: string;
  readonly #problems: string[] = [];
  #thread = "";
  #sent: Sent[] = [];
  /** What the last start of a run was answered with, to be shown. */
  #answered = "";

  constructor(server: Addressed, name: string) {
    this.#server = server;
    this.#name = name;
  }

  /** Plays the steps, then one more message that must be answered. Gives what was wrong. */
  async play(steps: readonly Step[]): Promise<string[]> {
    this.#thread = await newThread(this.#server);
    for (const step of steps) {
      if (await this.#do(step)) this.done.set(step.kind, (this.done.get(step.kind) ?? 0) + 1);
      const running = (await listRuns(this.#server, this.#thread)).filter(({ status }) => status === "running");
      if (running.length > 1) this.#problems.push(`${running.length} runs are running after ${step.kind}`);
    }
    await this.#rested();
    await this.#send("enqueue", "short");
    await this.#rested();
    await this.#judge();
    return this.#problems;
  }

  /** False when there was nothing to do. */
  async #do(step: Step): Promise<boolean> {
    switch (step.kind) {
      case "send":
        return this.#send(step.strategy, step.words);
      case "stop":
        return this.#stop(step.action);
      case "approve":
        return this.#approve(step.yes);
      case "fork":
        return this.#fork(step.back);
      case "edit":
        return this.#edit(step.which, step.way);
      case "copy":
        return this.#copy();
      case "delete":
        return this.#delete();
      case "pause":
        await delay(step.milliseconds);
        return true;
      case "rest":
        await this.#rested();
        return true;
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
    this.#answered = JSON.stringify(answer);
    return answer.status < 300 ? Started.parse(answer.body).run_id : undefined;
  }

  #nextText(words: string): string {
    return `${this.#name} message ${this.#sent.length} ${words}`;
  }

  async #send(strategy: string, words: string, more: object = {}): Promise<boolean> {
    const before = await this.#unfinished();
    const text = this.#nextText(words);
    const runId = await this.#start({
      input: { messages: [{ role: "user", content: text }] },
      multitask_strategy: strategy,
      ...more,
    });
    if (runId === undefined) return false;
    if (strategy === "interrupt") this.#mark(before, "stopped");
    if (strategy === "rollback") this.#mark(before, "removed");
    this.#note(text, runId);
    return true;
  }

  #note(text: string, runId: string): void {
    this.accepted += 1;
    this.#sent.push({ text, runId, fate: "kept" });
  }

  #mark(runIds: readonly string[], fate: Fate): void {
    for (const sent of this.#sent) if (runIds.includes(sent.runId) && sent.fate !== "removed") sent.fate = fate;
  }

  async #stop(action: "interrupt" | "rollback"): Promise<boolean> {
    const [newest] = await this.#unfinished();
    if (newest === undefined) return false;
    const path = `/threads/${this.#thread}/runs/${newest}/cancel?action=${action}`;
    const { status } = await call(this.#server, "POST", path);
    if (status >= 500) this.#problems.push(`a stop was answered with ${status}`);
    // Whether later queued runs go with it is the server's choice; none of them may vanish.
    this.#mark(await this.#unfinished(), "stopped");
    this.#mark([newest], action === "rollback" ? "removed" : "stopped");
    return true;
  }

  async #approve(yes: boolean): Promise<boolean> {
    const thread = await getThread(this.#server, this.#thread);
    if (thread.status !== "interrupted" || Object.keys(thread.interrupts).length === 0) return false;
    const decision = yes ? { type: "approve" } : { type: "reject", message: "no" };
    const runId = await this.#start({ command: { resume: { decisions: [decision] } } });
    return runId !== undefined;
  }

  /** A message at an older checkpoint: what was said after that is another branch. */
  async #fork(back: number): Promise<boolean> {
    if ((await this.#unfinished()).length > 0) return false;
    const past = await readPast(this.#server, this.#thread, 10);
    const state = past[Math.min(back, past.length - 1)];
    if (state === undefined) return false;
    this.#giveUp(messagesAt(past[0] ?? state).map(textOf), messagesAt(state).map(textOf));
    return await this.#send("reject", "short", { checkpoint_id: state.checkpoint.checkpoint_id });
  }

  /** What the old branch holds and the new one does not is given up. */
  #giveUp(old: readonly string[], texts: readonly string[]): void {
    for (const sent of this.#sent) {
      if (old.includes(sent.text) && !texts.includes(sent.text)) sent.fate = "removed";
    }
  }

  /** Another text for an earlier message: what followed it stays on the old branch, which stays as it is. */
  async #edit(which: number, way: EditWay): Promise<boolean> {
    if ((await this.#unfinished()).length > 0) return false;
    const text = this.#nextText("short");
    const edit = await prepareEdit(this.#server, this.#thread, { which, way, text });
    if (edit === undefined) return false;
    this.#giveUp(edit.old.texts, edit.texts);
    const runId = await this.#start(edit.body);
    if (runId === undefined) {
      this.#problems.push(`an edit by ${way} was refused: ${this.#answered}`);
      return false;
    }
    this.#note(text, runId);
    await this.#rested();
    this.#problems.push(...(await editProblems(this.#server, this.#thread, edit)));
    return true;
  }

  async #copy(): Promise<boolean> {
    if ((await this.#unfinished()).length > 0) return false;
    const copy = z.looseObject({ thread_id: z.string() });
    const { thread_id: id } = copy.parse(await ask(this.#server, "POST", `/threads/${this.#thread}/copy`));
    const [own, other] = await Promise.all([this.#thread, id].map((thread) => readMessages(this.#server, thread)));
    if (JSON.stringify(own) !== JSON.stringify(other)) this.#problems.push("a copy holds other messages");
    await ask(this.#server, "DELETE", `/threads/${id}`);
    return true;
  }

  async #delete(): Promise<boolean> {
    await ask(this.#server, "DELETE", `/threads/${this.#thread}`);
    const { status } = await call(this.#server, "GET", `/threads/${this.#thread}/state`);
    if (status !== 404) this.#problems.push(`a deleted session was answered with ${status}`);
    this.#sent = [];
    this.#thread = await newThread(this.#server);
    return true;
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
