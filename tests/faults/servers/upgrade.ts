import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startPostgres, type TestPostgres } from "../../support/processes/postgres.ts";
import { ServerProcess } from "../../support/processes/server-process.ts";
import { atMost, noneOf, quantile, type Figure, type Random, type Scenario } from "../harness/scenario.ts";
import { SteadyLoad } from "../harness/steady-load.ts";
import { graphsOf, newThread, type World } from "../harness/world.ts";
import { Cluster } from "./cluster.ts";
import { Walks } from "./walks.ts";

const lease = 5;
/** Milliseconds from the signal to a server until its runs go on elsewhere. */
const longestHandOver = 2_000;
const hook = join(import.meta.dirname, "../harness/hooks/newer-schema-hook.ts");

/**
 * Servers of one version are replaced by those of the next one, one after the other, under load. The next version is this
 * program with one migration more; the one before it is that of the folder FORMER_SOURCES, or the same program without.
 */
export const upgrade: Scenario = {
  name: "upgrade",
  async run({ long, random, say }) {
    const postgres = await startPostgres();
    if (postgres === undefined) {
      return [{ what: "servers that were replaced", measured: "skipped: no PostgreSQL", target: "0", holds: true }];
    }
    try {
      const found = new Upgrades();
      const count = Number(process.env["UPGRADES"] ?? (long ? 20 : 1));
      for (let done = 0; done < count; done += 1) {
        await found.add(postgres, random, done % 2 === 0 ? "compatible" : "incompatible");
        say(`${done + 1} of ${count} upgrades`);
      }
      return found.figures();
    } finally {
      await postgres.stop();
    }
  },
};

/** Upgrades, and what they came to. */
class Upgrades {
  readonly #figures: Figure[] = [];
  readonly #handOvers: number[] = [];
  readonly #refused: string[] = [];
  readonly #ends: string[] = [];
  #asked = 0;
  #count = 0;

  /** Replaces three servers on a new database. Of an incompatible version the first one makes those of the former end by themselves. */
  async add(postgres: TestPostgres, random: Random, kind: "compatible" | "incompatible"): Promise<void> {
    this.#count += 1;
    const root = process.env["FORMER_SOURCES"];
    const cluster = await Cluster.open(await postgres.create(), { servers: 3, lease, random, root });
    const { world } = cluster;
    const newer: ServerProcess[] = [];
    const at = new Balancer(world.servers, random);
    const over = new AbortController();
    try {
      const worldAt = (): World => ({ ...world, server: at.pick() });
      const [load, walks] = [new SteadyLoad(worldAt, random, 100), new Walks(worldAt)];
      const working = Promise.all([
        ...Array.from({ length: 2 }, () => load.work(over.signal)),
        ...Array.from({ length: 4 }, () => walks.work(over.signal)),
        this.#ask(at, over.signal),
      ]);
      const replacing = (async () => {
        await delay(3_000);
        for (const server of world.servers) await this.#replace({ cluster, server, at, newer, kind });
        await delay(2_000);
      })();
      await Promise.race([replacing, working]);
      over.abort();
      await working;
      this.#figures.push(...(await load.figures()), ...walks.figures());
    } finally {
      over.abort();
      await Promise.all(newer.map((server) => server.end("SIGKILL")));
      await cluster.close();
    }
  }

  async #replace({ cluster, server, at, newer, kind }: Replaced): Promise<void> {
    const { world, steps } = cluster;
    const folder = await mkdtemp(join(world.folder, "newer-"));
    await writeFile(join(folder, "langgraph.json"), graphsOf());
    const next = new ServerProcess(folder, world.workspace, ["--import", hook]);
    next.configure({
      ...world.settings,
      MILLRACE_GRAPHS: join(folder, "langgraph.json"),
      NEWER_SCHEMA: kind,
      MILLRACE_CODE_VERSION: "newer",
    });
    newer.push(next);
    const pid = server.pid ?? 0;
    if (kind === "incompatible" && newer.length === 1) {
      // The schema changes with its start: nothing goes to the others any more.
      for (const former of world.servers) at.leave(former);
      await next.start();
      at.join(next);
      const ends = await Promise.all(world.servers.map((former) => former.ended()));
      this.#ends.push(...ends.map(({ code, signal }) => String(code ?? signal)).filter((end) => end !== "3"));
      return;
    }
    await next.start();
    at.join(next);
    if (kind === "incompatible") return;
    at.leave(server);
    const began = Date.now();
    const ended = server.end("SIGTERM");
    this.#handOvers.push(...(await steps.untilElsewhere(pid, began)));
    const end = await ended;
    if (end?.code !== 0) this.#ends.push(String(end?.code ?? end?.signal));
  }

  /** One request after the other, each tried once more where it fails; it waits while no server is there. */
  async #ask(at: Balancer, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      this.#asked += 1;
      try {
        await newThread(await at.one()).catch(async () => newThread(await at.one()));
      } catch (error) {
        this.#refused.push(String(error));
      }
      await delay(20);
    }
  }

  figures(): Figure[] {
    const names = [...new Set(this.#figures.map(({ what }) => what))];
    const missed = this.#figures.filter(({ holds }) => !holds);
    const judged = names.map((what): Figure => {
      const same = this.#figures.filter((figure) => figure.what === what);
      const bad = missed.find((figure) => figure.what === what);
      return bad ?? { what, measured: same.map(({ measured }) => measured).join(", "), target: "0", holds: true };
    });
    const hands = this.#handOvers;
    return [
      ...judged,
      noneOf("servers that ended in another way than they should", this.#ends, 3 * this.#count),
      noneOf("requests that failed twice", this.#refused, this.#asked),
      {
        what: "from SIGTERM to the next step elsewhere",
        measured: `${Math.round(quantile(hands, 0.5))} ms at p50 of ${hands.length}`,
        target: "> 0",
        holds: hands.length > 0,
      },
      atMost("the same, p99", quantile(hands, 0.99), longestHandOver, "ms"),
    ];
  }
}

interface Replaced {
  cluster: Cluster;
  server: ServerProcess;
  at: Balancer;
  newer: ServerProcess[];
  kind: "compatible" | "incompatible";
}

/** The servers that requests go to, as a load balancer knows them. */
class Balancer {
  readonly #there: Set<ServerProcess>;
  #joined = Promise.withResolvers<void>();
  readonly #random: Random;

  constructor(servers: readonly ServerProcess[], random: Random) {
    this.#there = new Set(servers);
    this.#random = random;
  }

  join(server: ServerProcess): void {
    this.#there.add(server);
    this.#joined.resolve();
    this.#joined = Promise.withResolvers();
  }

  leave(server: ServerProcess): void {
    this.#there.delete(server);
  }

  pick(): ServerProcess {
    return this.#random.pick([...this.#there]);
  }

  /** One of them, when there is one: those of a version whose schema is gone have ended before the next one is there. */
  async one(): Promise<ServerProcess> {
    while (this.#there.size === 0) await this.#joined.promise;
    return this.pick();
  }
}
