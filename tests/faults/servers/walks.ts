import { z } from "zod";
import { noneOf, type Figure } from "../harness/scenario.ts";
import { patiently } from "../harness/steady-load.ts";
import { settled } from "../harness/subject.ts";
import { ask, newThread, startRun, type World } from "../harness/world.ts";
import { walk } from "./step-log.ts";

const Walked = z.looseObject({ values: z.looseObject({ walked: z.array(z.number()) }) });
const patience = 120_000;

/** Runs of many short steps, one after the other, whose state shows whether a step was lost or came twice. */
export class Walks {
  readonly threads: string[] = [];
  readonly #at: () => World;
  readonly #pause: number;
  readonly #problems: string[] = [];
  #begun = 0;

  /** `at`: where the next request goes. `pause`: milliseconds that a step takes. */
  constructor(at: () => World, pause = walk.pause) {
    this.#at = at;
    this.#pause = pause;
  }

  /** One walk after the other, until it is over. */
  async work(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const { item, threadId, runId } = await patiently(() => this.#begin());
      this.threads.push(threadId);
      const end = await patiently(() => settled(this.#at, { threadId, runId }, patience, 200));
      const problem = end?.status === "success" ? await patiently(() => this.#stateProblem(threadId)) : end?.status;
      if (problem !== undefined || end === undefined) this.#problems.push(`${item}: ${problem ?? "not over"}`);
    }
  }

  async #begin(): Promise<{ item: string; threadId: string; runId: string }> {
    this.#begun += 1;
    const item = `w${this.#begun}`;
    const threadId = await newThread(this.#at().server);
    const { run_id: runId } = await startRun(this.#at().server, threadId, {
      assistant_id: "walker",
      input: { item, steps: walk.steps, pause: this.#pause },
      config: { recursion_limit: 2 * walk.steps },
    });
    return { item, threadId, runId };
  }

  async #stateProblem(threadId: string): Promise<string | undefined> {
    const { values } = Walked.parse(await ask(this.#at().server, "GET", `/threads/${threadId}/state`));
    const expected = Array.from({ length: walk.steps }, (_, step) => step);
    const walked = values.walked.join(" ");
    return walked === expected.join(" ") ? undefined : `its state holds ${walked}`;
  }

  figures(): Figure[] {
    return [noneOf("walks lost, or with a step lost or twice", this.#problems, this.threads.length)];
  }
}
