import { AppError } from "@millrace/engine/errors/errors";

/** The session of a run or call; `owner` is absent without owners. */
export interface SessionPlace {
  sessionId: string;
  owner: string | undefined;
}

/** A typed key for a toolkit's service, used by its tools, nodes and routes. */
export class ServiceKey<Service> {
  readonly name: string;
  /** Type-level only: makes keys of different services different types. */
  declare readonly service: Service;

  constructor(name: string) {
    this.name = name;
  }
}

interface Entry {
  service: unknown;
  forSession?: ((place: SessionPlace) => unknown) | undefined;
}

/** The services of a server's toolkits, by key. */
export class ToolkitServices {
  readonly #entries = new Map<ServiceKey<unknown>, Entry>();

  /** `forSession` limits the service to a session and its owner; default: no limit. */
  add<Service>(key: ServiceKey<Service>, service: Service, forSession?: (place: SessionPlace) => Service): this {
    this.#entries.set(key, { service, forSession });
    return this;
  }

  /** `undefined` if not open. */
  find<Service>(key: ServiceKey<Service>): Service | undefined {
    // `add` takes a service of the key's own type.
    return this.#entries.get(key)?.service as Service | undefined;
  }

  /** Throws `invalid_state` if not open. */
  get<Service>(key: ServiceKey<Service>): Service {
    const service = this.find(key);
    if (service === undefined) throw new AppError("invalid_state", `The service "${key.name}" is not open.`);
    return service;
  }

  /** The services limited to a session. */
  forSession(place: SessionPlace): ToolkitServices {
    const own = new ToolkitServices();
    for (const [key, { service, forSession }] of this.#entries) own.add(key, forSession?.(place) ?? service);
    return own;
  }
}
