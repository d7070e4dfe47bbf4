import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startSessions, type SessionFixture } from "./session-fixture.ts";

let sessions: SessionFixture;
beforeAll(async () => {
  sessions = await startSessions();
});
afterAll(() => sessions.close());

const count = (body: object): Promise<[number, unknown]> => sessions.ask("POST", "/tokens/count", body);

describe("POST /tokens/count", () => {
  it("counts a text, and says what it leaves of the model's window", async () => {
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

  it("counts messages with what each costs beside its words", async () => {
    const messages = [
      { role: "system", content: "hello world" },
      { role: "user", content: "hello world" },
    ];
    expect(await count({ messages })).toEqual([200, expect.objectContaining({ tokens: 2 + 11 + 2 + 7 })]);
  });

  it("counts an image by its size, and knows the usual limits of a model that it does not know", async () => {
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
});
