import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { fetchWithin } from "@millrace/models/resilience/fetch-within";

it("is one for each time-out, and asks again over connections that are there (PERF-04)", async () => {
  let connections = 0;
  const server = createServer((_, response) => response.end("yes"));
  server.on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    // A server that listens on a port has an AddressInfo; a string is only for pipes.
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    expect(fetchWithin(5000)).toBe(fetchWithin(5000));
    for (let asked = 0; asked < 20; asked += 1) expect(await (await fetchWithin(5000)(url)).text()).toBe("yes");
    // A second one is made where the next request comes before the first connection is seen to be free.
    expect(connections).toBeLessThan(4);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
