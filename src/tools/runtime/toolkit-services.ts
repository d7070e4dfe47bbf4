import { AppError } from "@millrace/engine/errors/errors";

/** Whose session a run or a call belongs to; `owner` is absent where no owners are known. */
export interface SessionPlace {
  sessionId: string;
  owner: string | undefined;
}

/** Names something that a toolkit keeps open for its tools, nodes and routes, and carries its type. */
export class ServiceKey<Service> {
  readonly name: string;
  /** Only for the compiler: keys of different services are different types. */
  declare readonly service: Service;

  constructor(name: string) {
    this.name = name;
  }
}

interface Entry {
  service: unknown;
  forSession?: ((place: SessionPlace) => unknown) | undefined;
}

/** What the toolkits of a server keep open, each under its own key. */
export class ToolkitServices {
  readonly #entries = new Map<ServiceKey<unknown>, Entry>();

  /** `forSession` gives the part of the service that belongs to a session and its owner; default: all of it. */
  add<Service>(key: ServiceKey<Service>, service: Service, forSession?: (place: SessionPlace) => Service): this {
    this.#entries.set(key, { service, forSession });
    return this;
  }

  /** `undefined` where nobody has opened it. */
  find<Service>(key: ServiceKey<Service>): Service | undefined {
    // `add` takes a service of the key's own type.
    return this.#entries.get(key)?.service as Service | undefined;
  }

  /** Throws `invalid_state` where nobody has opened it. */
  get<Service>(key: ServiceKey<Service>): Service {
    const service = this.find(key);
    if (service === undefined) throw new AppError("invalid_state", `The service "${key.name}" is not open.`);
    return service;
  }

  /** The same services, as far as they belong to a session. */
  forSession(place: SessionPlace): ToolkitServices {
    const own = new ToolkitServices();
    for (const [key, { service, forSession }] of this.#entries) own.add(key, forSession?.(place) ?? service);
    return own;
  }
}
