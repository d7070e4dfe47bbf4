import { join } from "node:path";
import { z } from "zod";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { readEvents } from "@millrace/testing/read-events";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const Item = z.looseObject({ type: z.string(), content: z.string().default("") });
const Tasks = z.object({ data: z.array(z.looseObject({ title: z.string() })) });

/** An event of a chat's stream. */
export interface ChatEvent {
  event: string;
  id: string | undefined;
  data: z.infer<typeof Item>;
}

/** A server with a scripted model, and the requests that tests of the chat send to it. */
export interface ChatServer {
  model: ModelServer;
  /** Tests that restart the server replace it. */
  server: TestServer;
  /** Sends a message to the route that streams its response. */
  stream(body: object, headers?: Record<string, string>): Promise<Response>;
  /** The system text of the last model call. */
  lastSystem(): string;
  /** The titles of the tasks without a date. */
  titles(): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts a server with a scripted model. */
export async function startChatServer(): Promise<ChatServer> {
  const model = await startModelServer({ script: [] });
  const chat: ChatServer = {
    model,
    server: await startTestServer({
      graphs: join(projectFolder, "langgraph.json"),
      model: "openai:scripted",
      openai: { apiKey: "test-key", baseUrl: model.url },
    }),
    stream: (body, headers = {}) => chat.server.send("POST", "/api/ai/chat/stream", body, headers),
    lastSystem() {
      const first = model.requests.at(-1)?.messages[0];
      return first?.role === "system" ? String(first.content) : "";
    },
    async titles() {
      const response = await chat.server.send("GET", "/api/views/staging/tasks");
      return Tasks.parse(await response.json()).data.map(({ title }) => title);
    },
    async close() {
      await chat.server.remove();
      await model.close();
    },
  };
  return chat;
}

/** Every event of a stream, to its end. */
export async function eventsOf(response: Response): Promise<ChatEvent[]> {
  const events = await readEvents(response);
  return events.map(({ event = "message", id, data }) => ({ event, id, data: Item.parse(data) }));
}

/** The text of a stream's messages. */
export const textOf = (events: readonly ChatEvent[]): string =>
  events.flatMap(({ event, data }) => (event === "message" ? [data.content] : [])).join("");

/** The body of a request with one message. */
export const say = (text: string, more: object = {}) => ({ messages: [{ role: "user", text }], ...more });

/** A model step that creates tasks. */
export const creates = (...titles: string[]): ModelStep => ({
  toolCalls: titles.map((title) => ({ name: "create_task", arguments: { title } })),
});
