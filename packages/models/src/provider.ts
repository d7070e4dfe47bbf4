import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Config } from "@millrace/engine/config/config";
import type { Advice, ErrorCode } from "@millrace/engine/errors/errors";
import type { ModelProfile } from "./registry/model-profile.ts";

/** How long one request to a model may take, in milliseconds. */
export interface Timeouts {
  /** Until the connection stands. */
  connectMs: number;
  /** Until the first words, reasoning or calls of an answer that is streamed. */
  firstTokenMs: number;
  /** Between two pieces of content; what is no content, such as a keep-alive, does not count. */
  idleMs: number;
  /** Until the end. */
  totalMs: number;
}

/** What a run may choose about a model beside its name. */
export interface ModelOptions {
  temperature?: number;
  /** Whether a model that can do both thinks first; left out, as its profile says. */
  thinking?: boolean;
  /** Tokens of one answer, at most what its profile allows. */
  maxTokens?: number;
  /** How it calls tools; left out, as its profile says. */
  toolProtocol?: ModelProfile["tool_calls"];
  /** Whether its vendor searches the web by itself; only where the provider `searchesItself`. */
  webSearch?: true;
  /** What goes over the network instead of the real `fetch`: to see what a client would send. */
  fetch?: typeof fetch;
}

/** How one model is reached, and what is known of it. Holds a secret: never log, trace or send this object. */
export interface Connection {
  /** `undefined` where nothing is reached. */
  address: string | undefined;
  apiKey: string | undefined;
  timeouts: Timeouts;
  /** Its context is already lowered to what the operator allows. */
  profile: ModelProfile;
}

/** What a server tells of a model that it has. */
export interface ModelFacts {
  /** As the server writes it, such as 7.6B. */
  parameterSize?: string;
  /** Tokens. */
  contextLength?: number;
}

/** One maker of models. Adding one is a file with this shape and a line in `index.ts`. */
export interface Provider {
  /** How people call it. */
  title: string;
  /** Where it is reached unless somebody says otherwise; `undefined` when nothing is reached. */
  baseUrl: string | undefined;
  /** The name of its key; without one it needs none. At an address of the user's own no key is asked for. */
  keyName?: string | undefined;
  /** It runs on a machine of the user's own: it may be slow, and is looked after sooner. */
  isLocal?: true;
  /** Its service keeps thoughts apart from the words of all its models. */
  keepsThoughtsApart?: true;
  /** It can search the web by itself. */
  searchesItself?: true;
  /** What the environment says of it. */
  environment?(config: Config): { apiKey?: string | undefined; baseUrl?: string | undefined };
  /** Makes the client; no network. A key that is needed is there. */
  create(name: string, options: ModelOptions, connection: Connection): BaseChatModel;
  /** Whether a model can be given the beginning of its answer, to go on with it; absent: it cannot. */
  takesBeginning?(profile: ModelProfile, options: ModelOptions): boolean;
  /**
   * Looks whether the service is there and has the model, where asking the model would first load it. Throws what
   * `toModelError` reads.
   */
  lookUp?(
    name: string,
    connection: Connection,
    options: { signal: AbortSignal; fetch?: typeof fetch },
  ): Promise<ModelFacts>;
  /** Added to a network or time-out failure: what the reader can check. */
  unreachableHint: string;
  /** Added when the provider does not know the model. */
  unknownModelHint(name: string): string;
  /** What can be done about a failure of one of its models, by the kind and the server's words; goes before the hints. */
  advise?(code: ErrorCode, said: string, name: string): Advice | undefined;
}

/** Which model a client is, for events and error messages. */
export interface ModelTarget {
  /** `provider:name`. */
  name: string;
  address: string | undefined;
  unreachableHint: string;
  unknownModelHint: string;
  keyHint?: string | undefined;
  advise?: (code: ErrorCode, said: string) => Advice | undefined;
  /** Whether a request may end with an `answerBeginning`; absent: it may not. */
  takesBeginning?: boolean;
  /** Takes the key out of a provider's words, which may repeat it. */
  withoutKey?: (text: string) => string;
}
