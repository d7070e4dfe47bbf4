import { randomUUID } from "node:crypto";
import { AIMessage } from "@langchain/core/messages";
import { isAppError } from "@millrace/engine/errors/errors";
import { languageOfWords } from "@millrace/engine/language";
import { servicesOf, sessionIdOf } from "../../../src/loop/services.ts";
import type { WorkflowNode } from "../../../src/state.ts";
import { createOperations } from "../../../src/tools/undo/operations.ts";
import { answeredReview } from "./design-review.ts";
import { resultOf } from "./review-design.ts";
import { undoWords } from "./design-words.ts";
import { lastUserText } from "../../../src/nodes/turn/request-words.ts";

/**
 * Undoes the changes of a design iteration, newest first, and reports those that can no longer be undone. Idempotent,
 * so the node may run again after a crash.
 */
export const undoDesign: WorkflowNode = async (state, config) => {
  const { operations: store, locks, workspace, toolkitServices } = servicesOf(config);
  const ids = answeredReview(state.messages)?.design_checkpoint.operations ?? [];
  const signal = config.signal ?? new AbortController().signal;
  const undone = store === undefined ? undefined : createOperations({ store, locks, workspace, toolkitServices });
  const done = new Set<string>();
  const failed: string[] = [];
  for (const id of ids) {
    try {
      const card = await undone?.undo(sessionIdOf(config), id, signal);
      if (card !== undefined) done.add(card.path);
    } catch (error) {
      if (!isAppError(error) || error.code === "cancelled") throw error;
      failed.push(error.message);
    }
  }
  const isChinese = languageOfWords(lastUserText(state.messages)) === "zh";
  const message = new AIMessage({
    id: randomUUID(),
    content: undoWords([...done], failed, isChinese),
    additional_kwargs: { timestamp: new Date().toISOString() },
  });
  // The previous iteration's result file is restored, so its figures apply again.
  const { metrics } = await resultOf({ ...state, error_context: null }, workspace, signal);
  return { messages: [message], error_context: null, last_metrics: metrics };
};
