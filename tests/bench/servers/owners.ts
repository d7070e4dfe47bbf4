import { Agent, request as httpRequest } from "node:http";
import type { Figure, Section } from "../figures.ts";
import { startMillrace } from "./servers.ts";

/** How many times as much a request of one of many owners may cost as one of a single owner; noise is the rest. */
const most = 1.5;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/**
 * What a request costs by the number of owners whose keys the server knows, with a request of each in turn: `GET /threads/:id`
 * of a thread that is not there, so that the owner's scope is used. What 1,000 owners cost must be what one costs.
 */
export async function measureOwners(modelUrl: string, counts: readonly number[], requests: number): Promise<Section> {
  const figures: Figure[] = [];
  let alone: number | undefined;
  for (const count of counts) {
    const { cpuMs, residentMb } = await costOf(modelUrl, count, requests);
    alone ??= cpuMs;
    const measure = `${count} ${count === 1 ? "owner" : "owners in turn"}`;
    const limit = count === 1 ? {} : { max: Math.round(alone * most * 100) / 100 };
    figures.push({ measure, value: cpuMs, unit: "ms CPU/request", ...limit, note: `${residentMb.toFixed(0)} MB` });
  }
  return { title: `Requests by the number of owners, ${requests} each`, figures };
}

async function costOf(
  modelUrl: string,
  count: number,
  requests: number,
): Promise<{ cpuMs: number; residentMb: number }> {
  const keys = Array.from({ length: count }, (_, index) => `owner${index}:key-of-${index}`);
  const server = await startMillrace(modelUrl, { apiKeys: keys.join(",") });
  const path = `${server.url}/threads/01890000-0000-7000-8000-000000000000`;
  const ask = async (from: number): Promise<void> => {
    for (let index = from; index < from + requests; index += 1) await get(path, `key-of-${index % count}`);
  };
  try {
    // Each owner has asked before, and the code is warm.
    await ask(0);
    const before = server.cpuMs();
    await ask(requests);
    return { cpuMs: (server.cpuMs() - before) / requests, residentMb: server.residentMb() };
  } finally {
    await server.stop();
  }
}

function get(url: string, key: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = httpRequest(url, { agent, headers: { "x-api-key": key } }, (answer) => {
    answer.on("error", reject);
    answer.on("end", () => {
      if (answer.statusCode === 404) resolve();
      else reject(new Error(`${url} answered ${answer.statusCode}, expected 404.`));
    });
    answer.resume();
  });
  asked.on("error", reject);
  asked.end();
  return promise;
}
