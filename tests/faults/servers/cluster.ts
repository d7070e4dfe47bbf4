import { setTimeout as delay } from "node:timers/promises";
import type { ServerProcess } from "../../support/processes/server-process.ts";
import type { Random } from "../harness/scenario.ts";
import { openWorld, type World } from "../harness/world.ts";
import { answer } from "../harness/script.ts";
import { StepLog } from "./step-log.ts";

interface ClusterOptions {
  servers: number;
  /** Seconds. */
  lease: number;
  random: Random;
  handler?: Parameters<typeof openWorld>[0];
  /** Further variables of one of them. */
  environmentOf?: (index: number) => Record<string, string>;
  nodeArguments?: string[];
  /** The sources that they are started from. */
  root?: string | undefined;
}

/** Several servers over one PostgreSQL, of which some are killed or stand still for a while. */
export class Cluster {
  readonly world: World;
  readonly steps: StepLog;
  /** Milliseconds from a kill until each run that was at work there began its next step elsewhere; and from a freeze. */
  readonly takeOvers: Record<"kill" | "freeze", number[]> = { kill: [], freeze: [] };
  readonly #random: Random;
  readonly #away = new Set<ServerProcess>();

  private constructor(world: World, random: Random) {
    this.world = world;
    this.#random = random;
    this.steps = new StepLog(world.stepsFile);
  }

  /** Starts them on the database of an address; to be closed in `finally`. */
  static async open(
    database: string,
    { lease, random, handler = answer, ...options }: ClusterOptions,
  ): Promise<Cluster> {
    const environment = {
      MILLRACE_DATABASE: database,
      MILLRACE_LEASE_SECONDS: String(lease),
      // Runs are hit as often as chance will have it.
      MILLRACE_CRASH_BUDGET: "1000",
    };
    return new Cluster(await openWorld(handler, { environment, ...options }), random);
  }

  /** The world as a client sees it that is sent to any of the servers: one that stands still is found out at once. */
  readonly at = (): World => ({ ...this.world, server: this.pick() });

  /** One of those that work. */
  pick(): ServerProcess {
    return this.#random.pick(this.world.servers.filter((server) => !this.#away.has(server)));
  }

  /** Sends no requests to a server while it is away. */
  async without<Result>(server: ServerProcess, work: () => Promise<Result>): Promise<Result> {
    this.#away.add(server);
    try {
      return await work();
    } finally {
      this.#away.delete(server);
    }
  }

  /** Kills a server. `waits`: it is started again only when others have gone on with all that walked there. */
  async kill(waits: boolean): Promise<void> {
    const server = this.pick();
    const pid = server.pid ?? 0;
    this.#away.add(server);
    const at = Date.now();
    await server.kill();
    if (waits) this.takeOvers.kill.push(...(await this.steps.untilElsewhere(pid, at)));
    await server.start();
    this.#away.delete(server);
  }

  /** Has a server stand still for so long; then it goes on with what it was about to do. `waits`: as for `kill`. */
  async freeze(milliseconds: number, waits: boolean): Promise<void> {
    const server = this.pick();
    const { pid } = server;
    if (pid === undefined) throw new Error("A server has ended by itself.");
    this.#away.add(server);
    const at = Date.now();
    process.kill(pid, "SIGSTOP");
    const taken = waits ? this.steps.untilElsewhere(pid, at) : Promise.resolve([]);
    await delay(milliseconds);
    process.kill(pid, "SIGCONT");
    this.#away.delete(server);
    this.takeOvers.freeze.push(...(await taken));
  }

  close(): Promise<void> {
    return this.world.close();
  }
}
