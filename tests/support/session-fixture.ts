import { join } from "node:path";
import { z } from "zod";
import { loadConfig, type Config } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "./source-files.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

/** A message as the wire has it in a thread's values. */
export const WireMessage = z.looseObject({
  id: z.string(),
  type: z.string(),
  content: z.string(),
  additional_kwargs: z.record(z.string(), z.unknown()),
});
const State = z.looseObject({ messages: z.array(WireMessage) });

/** Our workflow behind HTTP with a scripted model, as the tests of sessions use it. */
export interface SessionFixture {
  server: TestServer;
  model: ModelServer;
  /** Sends a request; gives the status, and the JSON of a success or else the text. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<[number, unknown]>;
  /** The JSON of a success; throws for anything else. */
  json(method: string, path: string, body?: unknown): Promise<unknown>;
  /** A new thread in which the user has said these things, and the model has answered `re: …` to each. */
  talk(...said: string[]): Promise<string>;
  /** Says one thing more. */
  say(threadId: string, words: string): Promise<void>;
  messages(threadId: string): Promise<z.infer<typeof WireMessage>[]>;
  close(): Promise<void>;
}

/** Starts it; close it in the test. */
export async function startSessions(changes: Partial<Config> = {}): Promise<SessionFixture> {
  const model = await startModelServer({ script: [] });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const graphs = join(projectFolder, "langgraph.json");
  const server = await startTestServer({ graphs, openai, model: "openai:scripted", ...changes });
  const ask: SessionFixture["ask"] = async (method, path, body, headers) => {
    const response = await server.send(method, path, body, headers);
    const text = await response.text();
    const isJson = response.ok && (response.headers.get("content-type") ?? "").startsWith("application/json");
    return [response.status, isJson ? JSON.parse(text) : text];
  };
  const say = async (id: string, words: string): Promise<void> => {
    model.push({ text: `re: ${words}` });
    const input = { messages: [{ role: "user", content: words }] };
    await server.client.runs.wait(id, "agent", { input, context: { mode: "reply" } });
  };
  return {
    server,
    model,
    ask,
    async json(method, path, body) {
      const [status, answer] = await ask(method, path, body);
      if (status !== 200) throw new Error(`${method} ${path}: ${status} ${String(answer)}`);
      return answer;
    },
    async talk(...said) {
      const { thread_id } = await server.client.threads.create();
      for (const words of said) await say(thread_id, words);
      return thread_id;
    },
    say,
    messages: async (id) => State.parse((await server.client.threads.getState(id)).values).messages,
    async close() {
      await server.remove();
      await model.close();
    },
  };
}
