import { z } from "zod";
import { isAIMessage, isBaseMessage } from "../../message-kinds.ts";
import type { RunEvent } from "../../run-events.ts";

const Origin = z.looseObject({ langgraph_checkpoint_ns: z.string() });

/** The messages of one task, and the attempt of the run that said them. */
interface TaskMessages {
  attempt: number;
  ids: Set<string>;
}

/**
 * Finds in the events of one run, given in their order, what an attempt said that was lost: a task that speaks in a later
 * attempt as well was not done, and says all of it anew.
 */
export class SupersededMessages {
  #attempt = 0;
  readonly #tasks = new Map<string, TaskMessages>();

  /** The ids of the messages that count no more from this event on. */
  read(event: RunEvent): string[] {
    if (event.event === "metadata") this.#attempt = event.data.attempt;
    if (event.event !== "messages" || !isBaseMessage(event.data) || !isAIMessage(event.data)) return [];
    const task = Origin.safeParse(event.metadata).data?.langgraph_checkpoint_ns;
    if (task === undefined) return [];
    const { id = "" } = event.data;
    const said = this.#tasks.get(task);
    if (said?.attempt === this.#attempt) {
      said.ids.add(id);
      return [];
    }
    this.#tasks.set(task, { attempt: this.#attempt, ids: new Set([id]) });
    return [...(said?.ids ?? [])];
  }
}
