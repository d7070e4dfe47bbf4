import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

it("shows the libraries, takes another repository, and says what is wrong with one", async () => {
  const shown = await server.send("GET", "/library-docs?content=true");
  expect(await shown.json()).toMatchObject({ is_cloned: false, libraries: [], documents: [], warnings: [] });
  const url = "https://mirror.example/docs.git";
  const chosen = await server.send("PUT", "/library-docs/repository", { url });
  expect(await chosen.json()).toMatchObject({ repository: url });
  for (const refused of ["file:///etc", "https://user:secret@mirror.example/docs.git"]) {
    const answer = await server.send("PUT", "/library-docs/repository", { url: refused });
    expect(answer.status).toBe(400);
    expect(await answer.text()).not.toContain("secret");
  }
  expect((await server.send("DELETE", "/library-docs?name=nolib")).status).toBe(404);
  for (const name of ["../etc", "a/b/c", ""]) {
    expect((await server.send("POST", "/library-docs", { name })).status).toBe(400);
  }
});
