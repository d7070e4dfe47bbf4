import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Config } from "@millrace/engine/config/config";
import type { Advice, ErrorCode } from "@millrace/engine/errors/errors";
import type { ModelProfile } from "./registry/model-profile.ts";

/** Time limits of one model request, in milliseconds. */
export interface Timeouts {
  /** Until the connection is established. */
  connectMs: number;
  /** Until the first content of a streamed answer. */
  firstTokenMs: number;
  /** Between two chunks with content; keep-alives do not count. */
  idleMs: number;
  /** For the whole request. */
  totalMs: number;
}

/** Options of a model besides its name. */
export interface ModelOptions {
  temperature?: number;
  /** Turns an optional thinking mode on or off; default by its profile. */
  thinking?: boolean;
  /** Maximum tokens per answer, capped by the profile. */
  maxTokens?: number;
  /** Tool protocol; default by its profile. */
  toolProtocol?: ModelProfile["tool_calls"];
  /** Uses the vendor's web search; only if the provider has `searchesItself`. */
  webSearch?: true;
  /** Replaces `fetch`, to capture requests. */
  fetch?: typeof fetch;
}

/** Connection to one model. Holds a secret: never log, trace or send this object. */
export interface Connection {
  /** `undefined` without a network. */
  address: string | undefined;
  apiKey: string | undefined;
  timeouts: Timeouts;
  /** Context already limited by the operator. */
  profile: ModelProfile;
}

/** Facts a server reports about a model. */
export interface ModelFacts {
  /** As the server writes it, such as 7.6B. */
  parameterSize?: string;
  /** Tokens. */
  contextLength?: number;
}

/** A model provider. To add one, write a file of this shape and a line in `index.ts`. */
export interface Provider {
  /** Display name. */
  title: string;
  /** Default address; `undefined` without a network. */
  baseUrl: string | undefined;
  /** Name of its API key; absent: none needed. At a custom address the key is optional. */
  keyName?: string | undefined;
  /** Self-hosted: slower, and retried sooner after failures. */
  isLocal?: true;
  /** Its service separates reasoning from text for all models. */
  keepsThoughtsApart?: true;
  /** Has its own web search. */
  searchesItself?: true;
  /** Settings from the environment. */
  environment?(config: Config): { apiKey?: string | undefined; baseUrl?: string | undefined };
  /** Creates the client, without network access. A needed key is present. */
  create(name: string, options: ModelOptions, connection: Connection): BaseChatModel;
  /** Whether a model can continue a given beginning of its answer; default no. */
  takesBeginning?(profile: ModelProfile, options: ModelOptions): boolean;
  /** Checks service and model without loading the model. Throws errors for `toModelError`. */
  lookUp?(
    name: string,
    connection: Connection,
    options: { signal: AbortSignal; fetch?: typeof fetch },
  ): Promise<ModelFacts>;
  /** Advice added to network and time-out errors. */
  unreachableHint: string;
  /** Advice added to unknown-model errors. */
  unknownModelHint(name: string): string;
  /** Specific advice by error code and text; overrides the hints. */
  advise?(code: ErrorCode, message: string, name: string): Advice | undefined;
}

/** Identifies a client's model in events and errors. */
export interface ModelTarget {
  /** `provider:name`. */
  name: string;
  address: string | undefined;
  unreachableHint: string;
  unknownModelHint: string;
  keyHint?: string | undefined;
  advise?: (code: ErrorCode, message: string) => Advice | undefined;
  /** Whether a request may end with an `answerBeginning`; default no. */
  takesBeginning?: boolean;
  /** Removes the key from a provider's error text. */
  withoutKey?: (text: string) => string;
}
