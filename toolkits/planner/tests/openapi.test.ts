import { expect, it } from "vitest";
import { z } from "zod";
import { startTestServer } from "../../../tests/support/test-server.ts";

const Paths = z.record(z.string(), z.record(z.string(), z.looseObject({})));

it("describes where a request may be repeated, and where an answer is followed again", async () => {
  const server = await startTestServer({});
  try {
    const { paths } = z.looseObject({ paths: Paths }).parse(await (await server.send("GET", "/openapi.json")).json());
    const withHeader = (name: string): string[] =>
      Object.entries(paths)
        .filter(([path, operations]) => path.startsWith("/api/") && JSON.stringify(operations).includes(`"${name}"`))
        .map(([path]) => path);
    expect(withHeader("Idempotency-Key").toSorted()).toEqual(["/api/ai/chat", "/api/ai/chat/stream", "/api/tasks"]);
    expect(withHeader("Last-Event-ID")).toEqual(["/api/ai/chat/stream/{run_id}"]);
  } finally {
    await server.remove();
  }
});
