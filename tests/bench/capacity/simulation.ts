import { Clock, LogDisk, Station, Times } from "./queues.ts";
import type { Load, Outcome, Site, Step } from "./site.ts";

/** Milliseconds between two beats of a server, two notices of one, two requests for notices of a run, and two writes of PostgreSQL's log. */
const [beatPause, gathering, asking, walWriter] = [1_000, 10, 5_000, 200];

interface Server {
  thread: Station;
  slots: Station;
  connections: Station;
  /** Readers that its next notice is for, since when that waits, and when the last one went out. */
  notified: number;
  since: number | undefined;
  notifiedAt: number;
  isNotifying: boolean;
  /** Notices that it has received. */
  received: number;
}

/** Lets a site do its work: `warm` milliseconds that do not count, and `measured` ones that do. */
export function simulate(
  site: Site,
  load: Load,
  { seed, warm, measured }: { seed: number; warm: number; measured: number },
): Outcome {
  const simulation = new Simulation(site, load, seed);
  return simulation.run(warm, measured);
}

class Simulation {
  readonly #site: Site;
  readonly #load: Load;
  readonly #clock: Clock;
  readonly #cores: Station;
  readonly #disk: LogDisk;
  readonly #notifying: Station;
  readonly #workspaces: readonly Station[];
  readonly #servers: readonly Server[];
  readonly #client: Station;
  #notices = 0;
  #asked = 0;
  #lastEnd = 0;
  #database = new Times();
  #server = new Times();
  #notified = new Times();
  #counts = { came: 0, ended: 0, statements: 0, left: 0 };

  constructor(site: Site, load: Load, seed: number) {
    this.#site = site;
    this.#load = load;
    const clock = new Clock(seed);
    this.#clock = clock;
    const stations = (count: number, places: number): Station[] =>
      Array.from({ length: count }, () => new Station(clock, places));
    this.#cores = new Station(clock, site.cores);
    this.#disk = new LogDisk(clock, site.disk);
    this.#notifying = new Station(clock, 1);
    this.#workspaces = stations(site.hasOneWorkspace === true ? 1 : site.servers, 1);
    this.#client = new Station(clock, 1);
    this.#servers = Array.from({ length: site.servers }, () => ({
      thread: new Station(clock, 1),
      slots: new Station(clock, site.slots),
      connections: new Station(clock, site.connections),
      notified: 0,
      since: undefined,
      notifiedAt: -gathering,
      isNotifying: false,
      received: 0,
    }));
  }

  run(warm: number, measured: number): Outcome {
    for (const server of this.#servers) this.#clock.after(this.#clock.random() * beatPause, () => this.#beat(server));
    this.#clock.after(walWriter, () => this.#writeLog());
    this.#begin();
    this.#clock.runUntil(warm);
    const [begun, bytes] = [this.#clock.now, this.#disk.written];
    const all = this.#stations();
    for (const station of Object.values(all).flat()) station.reset();
    [this.#database, this.#server, this.#notified] = [new Times(), new Times(), new Times()];
    const before = { ...this.#counts };
    this.#clock.runUntil(warm + measured);
    const used = (stations: readonly Station[]): number =>
      stations.reduce((sum, station) => sum + station.used(begun), 0) / stations.length;
    const perSecond = (name: "came" | "ended" | "statements"): number =>
      ((this.#counts[name] - before[name]) / measured) * 1_000;
    const written = this.#disk.written - bytes;
    return {
      ended: perSecond("ended"),
      came: perSecond("came"),
      left: this.#counts.left,
      lastEnd: this.#lastEnd,
      server: this.#server,
      database: this.#database,
      notified: this.#notified,
      used: {
        server: used(all.server),
        slots: used(all.slots),
        connections: used(all.connections),
        cores: used(all.cores),
        // A flush that takes many commits along takes no longer: what is used up is how many bytes go through.
        disk: written / this.#site.disk.bytesPerMs / measured,
        workspace: used(all.workspace),
      },
      statements: perSecond("statements"),
      megabytes: written / 1_048_576 / (measured / 1_000),
    };
  }

  #stations() {
    const of = (name: "thread" | "slots" | "connections"): Station[] => this.#servers.map((server) => server[name]);
    return {
      server: of("thread"),
      slots: of("slots"),
      connections: of("connections"),
      cores: [this.#cores],
      workspace: this.#workspaces,
    };
  }

  #begin(): void {
    const { arrivals, script } = this.#load;
    if ("clients" in arrivals) {
      for (let index = 0; index < arrivals.clients; index += 1) this.#ask(index % this.#site.servers, arrivals);
      return;
    }
    // As if it had gone on for long: runs are everywhere on their way.
    const length = script.reduce((sum, step) => sum + step.ms, 0);
    const underWay = (arrivals.rate * length) / 1_000;
    for (let index = 0; index < underWay; index += 1) {
      let at = this.#clock.random() * length;
      const next = script.findIndex((step) => (at -= step.ms) < 0);
      this.#admit(this.#any(), undefined, next, -at);
    }
    const come = (): void => {
      this.#admit(this.#any());
      this.#clock.after(this.#clock.chance(1_000 / arrivals.rate), come);
    };
    this.#clock.after(this.#clock.chance(1_000 / arrivals.rate), come);
  }

  #any(): number {
    return Math.floor(this.#clock.random() * this.#site.servers);
  }

  /** A client that sends a run when its last one has ended. */
  #ask(server: number, load: { total: number; ms: number }): void {
    if (this.#asked >= load.total) return;
    this.#asked += 1;
    const ms = this.#clock.chance(load.ms);
    this.#compute(this.#client, ms, () => this.#admit(server, () => this.#ask(server, load)));
  }

  /** A run comes; `from`: it is at this step of its script already, of which so much is left. */
  #admit(index: number, ended?: () => void, from = 0, left?: number): void {
    const server = this.#servers[index];
    if (server === undefined) return;
    this.#counts.came += 1;
    this.#counts.left += 1;
    const isFollowed = this.#load.followed > 0 && this.#clock.random() < this.#load.followed;
    let isOver = false;
    if (isFollowed) this.#follow(server, () => isOver);
    let next = from;
    const { script } = this.#load;
    const go = (): void => {
      const step = script[next];
      next += 1;
      if (step === undefined) {
        isOver = true;
        this.#counts.ended += 1;
        this.#counts.left -= 1;
        this.#lastEnd = this.#clock.now;
        server.slots.free();
        ended?.();
      } else if (step.kind === "wait") this.#clock.after(next === from + 1 && left !== undefined ? left : step.ms, go);
      else if (step.kind === "work") this.#work(server, step.ms, go);
      else {
        this.#send(server, step, index, go);
        if (isFollowed) this.#notifyOthers(server, 1);
      }
    };
    server.slots.take(go);
  }

  /** Has a thread compute, which needs a core, its own or one that others want too. */
  #compute(thread: Station, ms: number, next: () => void): void {
    if (this.#site.isShared !== true) {
      thread.use(ms, next);
      return;
    }
    thread.take(() =>
      this.#cores.use(ms, () => {
        thread.free();
        next();
      }),
    );
  }

  #work(server: Server, mean: number, next: () => void): void {
    const asked = this.#clock.now;
    const { helpers, notice } = this.#site;
    const receiving = (this.#notices - server.received) * notice.server;
    server.received = this.#notices;
    const ms = this.#clock.chance(mean);
    if (helpers > 0 && this.#site.isShared === true) this.#cores.use(ms * helpers, () => undefined);
    this.#compute(server.thread, receiving + ms * (1 - helpers), () => {
      this.#server.add(this.#clock.now - asked);
      next();
    });
  }

  /** A statement, on a connection from when it is sent until its answer is there. */
  #send(server: Server, step: Step & { kind: "statement" }, index: number, next: () => void): void {
    const asked = this.#clock.now;
    const workspace = this.#workspaces[this.#site.hasOneWorkspace === true ? 0 : index];
    const end = (): void => {
      if (step.path === true) workspace?.free();
      server.connections.free();
      this.#database.add(this.#clock.now - asked);
      next();
    };
    const commit = (): void => {
      this.#counts.statements += 1;
      this.#disk.add(step.bytes);
      if (step.disk === true) this.#disk.flush(end);
      else end();
    };
    const execute = (): void => this.#cores.use(this.#clock.chance(step.ms), commit);
    const begin = (): void => {
      if (step.path === true) workspace?.take(execute);
      else execute();
    };
    server.connections.take(() => {
      if (this.#site.roundTrip > 0) this.#clock.after(this.#site.roundTrip, begin);
      else begin();
    });
  }

  #beat(server: Server): void {
    const { beat } = this.#site;
    this.#clock.after(beatPause, () => this.#beat(server));
    this.#work(server, beat.server, () => this.#cores.use(this.#clock.chance(beat.database), () => undefined));
  }

  /** What no commit waits for gets to the disk nevertheless. */
  #writeLog(): void {
    this.#clock.after(walWriter, () => this.#writeLog());
    this.#disk.flush(() => undefined);
  }

  /** Another server asks for notices of a run, again and again until it is over, and gets one at once. */
  #follow(writer: Server, isOver: () => boolean): void {
    const reader = this.#servers[this.#any()];
    if (isOver() || reader === undefined) return;
    this.#notifyOthers(reader, 0);
    this.#notifyOthers(writer, 1);
    this.#clock.after(asking, () => this.#follow(writer, isOver));
  }

  /** A server notifies others with its next notice, which waits for its last one; readers of its runs read on then. */
  #notifyOthers(server: Server, readers: number): void {
    server.notified += readers;
    server.since ??= this.#clock.now;
    if (server.isNotifying) return;
    server.isNotifying = true;
    this.#clock.after(Math.max(0, server.notifiedAt + gathering - this.#clock.now), () => {
      const { notified, since = this.#clock.now } = server;
      [server.notified, server.since, server.notifiedAt] = [0, undefined, this.#clock.now];
      this.#notify(() => {
        this.#notified.add(this.#clock.now - since);
        for (let index = 0; index < notified; index += 1) this.#read();
        server.isNotifying = false;
        if (server.since !== undefined) this.#notifyOthers(server, 0);
      });
    });
  }

  /** Notices are committed one after the other, and all servers receive each. */
  #notify(next: () => void): void {
    const { held, database } = this.#site.notice;
    this.#notifying.use(held, () => {
      this.#notices += 1;
      this.#cores.use(database, next);
    });
  }

  #read(): void {
    const index = this.#any();
    const server = this.#servers[index];
    if (server === undefined) return;
    const { look } = this.#site;
    this.#work(server, look.server, () =>
      this.#send(server, { kind: "statement", ms: look.database, bytes: 0 }, index, () => undefined),
    );
  }
}
