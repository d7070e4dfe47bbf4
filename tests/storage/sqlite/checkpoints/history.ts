import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import type { Run } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import type { SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { sessionRecord, runRecord, finish, append } from "../../../contract/records.ts";

/** The ids of two sessions. */
const sessions = ["0192d1c4-7d5e-7000-8000-00000000000a", "0192d1c4-7d5e-7000-8000-00000000000b"];

const answering = new StateGraph(new StateSchema({ messages: MessagesValue }))
  .addNode("answer", (state) => ({
    messages: [new AIMessage({ id: `answer-${state.messages.length}`, content: "a".repeat(700) })],
  }))
  .addEdge(START, "answer")
  .addEdge("answer", END);

/** Writes two sessions with `turns` turns each; every turn is a run that is admitted and ended as by the server. */
export async function writeHistory(storage: SqliteStorage, turns: number): Promise<void> {
  const graph = answering.compile({ checkpointer: storage.checkpointer });
  for (const id of sessions) await storage.sessions.create(sessionRecord(id));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [index, id] of sessions.entries()) {
      const run_id = `0192d1c4-7d5e-7000-8000-${String(index * 1000 + turn).padStart(12, "0")}`;
      const run: Run = runRecord(run_id, id);
      await storage.runs.admit(run);
      await storage.runs.claim(id);
      const message = new HumanMessage({ id: `question-${turn}`, content: `${turn}: ${"q".repeat(300)}` });
      await graph.invoke({ messages: [message] }, { configurable: { thread_id: id, run_id } });
      await append(storage, id, run_id, [{ id: 0, event: "metadata", data: { run_id, attempt: 1 } }]);
      await finish(storage, run_id, { status: "success", session_status: "idle", interrupts: {} });
    }
  }
}

const Messages = z.array(z.looseObject({ id: z.string(), content: z.string() }));

/** What can be read of everything `writeHistory` wrote: sessions, runs, events and messages. */
export async function contentOf(storage: Storage): Promise<object[]> {
  const { sessions: rows } = await storage.sessions.search({ limit: 100, offset: 0, sort_by: "thread_id" });
  return await Promise.all(
    rows.map(async ({ session_id, status, metadata }) => {
      const runs = await storage.runs.list(session_id, { limit: 1000, offset: 0 });
      const events = await Promise.all(runs.map(({ run_id }) => storage.events.read(run_id, -1, 100)));
      const tuple = await storage.checkpointer.getTuple({ configurable: { thread_id: session_id } });
      const messages = Messages.parse(tuple?.checkpoint.channel_values["messages"] ?? []);
      return {
        session_id,
        status,
        metadata,
        runs: runs.map(({ run_id, status: ended, kwargs }) => [run_id, ended, kwargs]),
        events: events.map((of) => of.length),
        messages: messages.map(({ id, content }) => [id, content]),
      };
    }),
  );
}
