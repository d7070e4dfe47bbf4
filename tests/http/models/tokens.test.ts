import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SharedProductServices } from "../../../src/http/product-services.ts";
import { tokenRoutes } from "../../../src/http/routes/models/tokens.ts";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let sessions: SessionFixture;
beforeAll(async () => {
  sessions = await startSessions();
});
afterAll(() => sessions.close());

const count = (body: object): Promise<[number, unknown]> => sessions.ask("POST", "/tokens/count", body);

describe("POST /tokens/count", () => {
  it("counts a text, and returns what is left of the model's window", async () => {
    expect(await count({ text: "hello world", model: "openai:gpt-4o" })).toEqual([
      200,
      {
        tokens: 2,
        method: "exact",
        estimate: 3,
        limits: { context: 128_000, output: 16_384, available: 128_000 - 16_384 - 2 },
      },
    ]);
  });

  it("counts messages, with the overhead of each", async () => {
    const messages = [
      { role: "system", content: "hello world" },
      { role: "user", content: "hello world" },
    ];
    expect(await count({ messages })).toEqual([200, expect.objectContaining({ tokens: 2 + 11 + 2 + 7 })]);
  });

  it("counts an image by its size, and uses default limits for an unknown model", async () => {
    const image = { width: 1024, height: 512 };
    expect(await count({ image, model: "openai:none" })).toEqual([
      200,
      {
        tokens: 85 + 2 * 170,
        method: "formula",
        estimate: 85 + 2 * 170,
        limits: { context: 128_000, output: 32_768, available: 128_000 - 32_768 - 425 },
      },
    ]);
  });

  it.each([{}, { text: "a", image: { width: 1, height: 1 } }, { text: 7 }, { image: { width: 0, height: 1 } }])(
    "refuses %j",
    async (body) => {
      expect((await count(body))[0]).toBe(400);
    },
  );

  it("names the position of a message that is invalid", async () => {
    const messages = [
      { role: "user", content: "hello" },
      { role: "user" },
      { role: "user", content: "hello", name: 7 },
    ];
    const [status, text] = await count({ messages });
    const issues = [
      ["messages", "1", "content"],
      ["messages", "2", "name"],
    ].map((path) => ({ path }));
    expect([status, JSON.parse(String(text))]).toMatchObject([400, { error: { name: "ZodError", issues } }]);
  });

  it("serves other requests while it reads ten thousand messages", async () => {
    // The messages are read before the services are used, and the last message is invalid.
    const routes = tokenRoutes({} as SharedProductServices);
    const good = Array.from({ length: 9_999 }, () => ({ role: "user", content: "hello" }));
    const body = JSON.stringify({ messages: [...good, { role: "user" }] });
    let answer: Response | undefined;
    void Promise.resolve(routes.request("/tokens/count", { method: "POST", body })).then((one) => (answer = one));
    let turns = 0;
    for (; answer === undefined; turns += 1) await nextTurn();
    expect(answer.status).toBe(400);
    expect(turns).toBeGreaterThan(99);
  });
});
