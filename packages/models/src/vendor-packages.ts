import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type {
  BaseChatModel,
  BaseChatModelCallOptions,
  BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import { z } from "zod";
import { callDefaults } from "./call-defaults.ts";
import type { Provider } from "./provider.ts";
import { WrappedModel } from "./wrapped-model.ts";

/** A vendor whose chat model is in a LangChain package installed by the user. */
interface VendorPackage {
  title: string;
  package: string;
  className: string;
  /** Absent if the package finds its credentials itself. */
  keyName?: string;
  address: string;
}

/** By LangChain's names in `initChatModel`. */
const vendorPackages: Readonly<Record<string, VendorPackage>> = {
  anthropic: {
    title: "Anthropic",
    package: "@langchain/anthropic",
    className: "ChatAnthropic",
    keyName: "ANTHROPIC_API_KEY",
    address: "https://api.anthropic.com",
  },
  "google-genai": {
    title: "Google Gemini",
    package: "@langchain/google-genai",
    className: "ChatGoogleGenerativeAI",
    keyName: "GOOGLE_API_KEY",
    address: "https://generativelanguage.googleapis.com",
  },
  "google-vertexai": {
    title: "Google Vertex AI",
    package: "@langchain/google-vertexai",
    className: "ChatVertexAI",
    address: "https://aiplatform.googleapis.com",
  },
  mistralai: {
    title: "Mistral",
    package: "@langchain/mistralai",
    className: "ChatMistralAI",
    keyName: "MISTRAL_API_KEY",
    address: "https://api.mistral.ai",
  },
  bedrock: {
    title: "Amazon Bedrock",
    package: "@langchain/aws",
    className: "ChatBedrockConverse",
    address: "https://bedrock-runtime.amazonaws.com",
  },
  groq: {
    title: "Groq",
    package: "@langchain/groq",
    className: "ChatGroq",
    keyName: "GROQ_API_KEY",
    address: "https://api.groq.com",
  },
  cohere: {
    title: "Cohere",
    package: "@langchain/cohere",
    className: "ChatCohere",
    keyName: "COHERE_API_KEY",
    address: "https://api.cohere.com",
  },
  xai: {
    title: "xAI",
    package: "@langchain/xai",
    className: "ChatXAI",
    keyName: "XAI_API_KEY",
    address: "https://api.x.ai",
  },
  cerebras: {
    title: "Cerebras",
    package: "@langchain/cerebras",
    className: "ChatCerebras",
    keyName: "CEREBRAS_API_KEY",
    address: "https://api.cerebras.ai",
  },
};

/** Aliases. */
const otherNames: Readonly<Record<string, string>> = {
  aws: "bedrock",
  gemini: "google-genai",
  google: "google-genai",
  google_genai: "google-genai",
  google_vertexai: "google-vertexai",
  mistral: "mistralai",
};

/** The providers of installed LangChain packages, resolved from `langgraph.json`'s folder first. */
export class InstalledProviders {
  readonly #folders: readonly string[];
  readonly #known = new Map<string, Provider>();

  constructor(manifest: string) {
    this.#folders = [dirname(manifest), process.cwd(), import.meta.dirname];
  }

  /** The provider of a name; `undefined` if there is none or its package is not installed. */
  find(name: string): Provider | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const vendor = vendorOf(name);
    const file = vendor && this.#fileOf(vendor.package);
    if (vendor === undefined || file === undefined) return undefined;
    const provider = providerOf(vendor, file);
    this.#known.set(name, provider);
    return provider;
  }

  /** The names of providers with installed packages. */
  names(): string[] {
    return Object.entries(vendorPackages).flatMap(([name, vendor]) => {
      return this.#known.has(name) || this.#fileOf(vendor.package) !== undefined ? [name] : [];
    });
  }

  /** What to install or set for a model of this name; `undefined` for an unknown provider. */
  advice(name: string): string | undefined {
    const vendor = vendorOf(name);
    return vendor && `npm install ${vendor.package} in ${this.#folders[0]}, then start again.`;
  }

  #fileOf(name: string): string | undefined {
    for (const folder of this.#folders) {
      try {
        return createRequire(join(folder, "package.json")).resolve(name);
      } catch {
        // It is not installed there.
      }
    }
    return undefined;
  }
}

function vendorOf(name: string): VendorPackage | undefined {
  const usual = Object.hasOwn(otherNames, name) ? otherNames[name] : name;
  return usual !== undefined && Object.hasOwn(vendorPackages, usual) ? vendorPackages[usual] : undefined;
}

function providerOf(vendor: VendorPackage, file: string): Provider {
  const { title, address, keyName } = vendor;
  return {
    title,
    baseUrl: address,
    keyName,
    create: (name, options, { apiKey, profile }) => {
      const { maxTokens, ...others } = callDefaults(profile, options);
      return makeModel(vendor, file, {
        model: name,
        ...others,
        // Packages use one of these two names.
        ...(maxTokens !== undefined && { maxTokens, maxOutputTokens: maxTokens }),
        ...(apiKey !== undefined && { apiKey }),
        // Retries happen elsewhere.
        maxRetries: 0,
      });
    },
    unreachableHint: `Check the network, and the status of ${title}.`,
    unknownModelHint: (name) => `Check the name "${name}" against the list of models of ${title}.`,
  };
}

const ModelClass = z.custom<new (fields: object) => BaseChatModel>((value) => typeof value === "function");

function makeModel(vendor: VendorPackage, file: string, fields: object): BaseChatModel {
  const { package: name, className } = vendor;
  try {
    const exported: unknown = createRequire(file)(file);
    const { [className]: Model } = z.looseObject({ [className]: ModelClass }).parse(exported);
    return new InstalledModel(new (ModelClass.parse(Model))(fields));
  } catch (error) {
    throw new AppError("config", `${name} is installed, and its ${className} cannot be made: ${errorMessage(error)}`, {
      suggestion: `Look at the version of ${name}, and at what it reads from the environment.`,
      cause: error,
    });
  }
}

interface ToolOptions extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
}

/** The result of `bindTools`: the tools in the vendor's format are among the call options. */
const Bound = z.object({
  config: z.record(z.string(), z.unknown()).optional(),
  kwargs: z.record(z.string(), z.unknown()).optional(),
});

/** A package's model, which gets its tools through its own `bindTools`. */
class InstalledModel extends WrappedModel<ToolOptions> {
  override _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    return this.wrapped._generate(messages, this.#withTools(options));
  }

  override _streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
  ): AsyncGenerator<ChatGenerationChunk> {
    return this.wrapped._streamResponseChunks(messages, this.#withTools(options));
  }

  #withTools(options: this["ParsedCallOptions"]): this["ParsedCallOptions"] {
    const { tools = [], tool_choice } = options;
    if (tools.length === 0 || this.wrapped.bindTools === undefined) return options;
    const bound = Bound.parse(this.wrapped.bindTools(tools, tool_choice === undefined ? {} : { tool_choice }));
    return { ...options, ...bound.kwargs, ...bound.config };
  }
}
