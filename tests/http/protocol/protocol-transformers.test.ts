import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command, isEnd, openEvents, type WireEvent } from "../../support/requests/protocol-client.ts";
import { packagesOfGraphs, startTestServer, type TestServer } from "../../support/test-server.ts";

const hello = { messages: [{ role: "user", content: "Hi", id: "hi" }] };
const dataOf = (events: WireEvent[], method: string): unknown[] =>
  events.filter((event) => event.method === method).map(({ params }) => params.data);

describe.each(packagesOfGraphs)("the events of a run of a graph with %s", (packages) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({}, undefined, packages);
  });
  afterAll(() => server.remove());

  /** Performs one run and returns all its events. */
  async function recordOf(assistant_id: string, input: unknown, threadId = crypto.randomUUID()): Promise<WireEvent[]> {
    const reader = await openEvents(server, threadId);
    await command(server, threadId, "run.start", { assistant_id, input });
    const events = await reader.until(isEnd);
    await reader.leave();
    return events;
  }

  it("include the graph's transformers: their channels as they come, and their final values at the end", async () => {
    const threadId = crypto.randomUUID();
    const events = await recordOf("counted", hello, threadId);
    const made = dataOf(events, "custom");
    expect(made).toHaveLength(7);
    expect(made.slice(0, 5)).toEqual([1, 2, 3, 4, 5].map((payload) => ({ name: "running", payload })));
    expect(made.slice(5)).toEqual([
      { name: "letters", payload: 5 },
      { name: "texts", payload: ["begin"] },
    ]);
    const late = await openEvents(server, threadId, { channels: ["custom:letters", "lifecycle"] });
    const letters = (await late.until(isEnd)).find(({ method }) => method === "custom");
    expect(letters).toEqual(events.find(({ params }) => params.data["name"] === "letters"));
    await late.leave();
  });

  it("are complete if the transformers fail", async () => {
    const events = await recordOf("miscounted", { value: 1 });
    expect(dataOf(events, "values").at(-1)).toEqual({ value: 2 });
    expect(events.at(-1)?.params.data).toEqual({ event: "completed", graph_name: "miscounted" });
    expect(dataOf(events, "custom")).toEqual([]);
  });
});
