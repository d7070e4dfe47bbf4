import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordLog } from "../../support/processes/record-log.ts";
import { byHeader, openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import type { TestServer } from "../../support/test-server.ts";

let servers: RulesServers;
beforeAll(async () => {
  servers = await openRulesServers();
});
afterAll(() => servers.remove());

const file = join(import.meta.dirname, "../../support/test-graphs.ts");
const graphs = { talker: `${file}:talker`, caller: `${file}:caller` };
const weather = { type: "function" as const, function: { name: "get_weather", parameters: { type: "object" } } };
const { logger, lines } = recordLog();

describe.each([
  ["false", "a refusal"],
  ['({ owner: "another user" })', "a filter"],
])("a caller whose rules forbid threads:update by %s", (refusal) => {
  let server: TestServer;
  let client: OpenAI;
  beforeAll(async () => {
    server = await servers.serve(`${byHeader}.on("threads:update", () => ${refusal})`, {}, { graphs }, logger);
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "unused", maxRetries: 0 });
  });

  it("gets the answer of a turn in a new thread, which is deleted in time", async () => {
    const { data: answer, response } = await client.chat.completions
      .create({ model: "talker", messages: [{ role: "user", content: "Hello" }] })
      .withResponse();
    expect(answer.choices[0]?.message.content).toBe("Hello there");
    const thread = await server.send("GET", `/threads/${response.headers.get("x-thread-id")}?include=ttl`);
    expect(await thread.json()).toMatchObject({ ttl: { strategy: "delete", ttl_minutes: 60 } });
  });

  it("gets a call of its tools, also as a stream", async () => {
    const body = { model: "caller", messages: [{ role: "user" as const, content: "Hello" }], tools: [weather] };
    const answer = await client.chat.completions.create(body);
    expect(answer.choices[0]?.finish_reason).toBe("tool_calls");
    const reasons: unknown[] = [];
    for await (const { choices } of await client.chat.completions.create({ ...body, stream: true })) {
      reasons.push(choices[0]?.finish_reason);
    }
    expect(reasons.at(-1)).toBe("tool_calls");
  });
});

it("the log reports each thread that will not be found by its conversation", () => {
  expect(lines.filter(({ msg }) => msg === "openai_waits_not_kept")).toHaveLength(2);
});
