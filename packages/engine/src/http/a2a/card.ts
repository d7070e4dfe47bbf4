import type { AgentCard } from "@a2a-js/sdk";
import type { Assistant } from "../../storage/records.ts";

/** What an agent card depends on beside the assistant. */
export interface CardPlace {
  /** Where the server was reached. */
  origin: string;
  hasMessages: boolean;
  /** Whether callers need a key. */
  asksForKey: boolean;
  version: string;
}

/** The agent card of an assistant: both versions of the protocol are spoken at one address. */
export function agentCard(assistant: Assistant, { origin, hasMessages, asksForKey, version }: CardPlace): AgentCard {
  const url = `${origin}/a2a/${encodeURIComponent(assistant.assistant_id)}`;
  const json = "application/json";
  const modes = hasMessages ? ["text/plain", json] : [json];
  const description =
    assistant.description ??
    (hasMessages
      ? `The assistant ${assistant.name}. It takes messages, and answers with text.`
      : `The assistant ${assistant.name}. Its graph has no messages: it takes a data part with its input, and gives one.`);
  const requirement = { schemes: { apiKey: { list: [] } } };
  return {
    name: assistant.name,
    description,
    supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
      url,
      protocolBinding: "JSONRPC",
      tenant: "",
      protocolVersion,
    })),
    provider: undefined,
    version,
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: asksForKey
      ? {
          apiKey: {
            scheme: {
              $case: "apiKeySecurityScheme",
              value: { description: "A key of this server", location: "header", name: "X-Api-Key" },
            },
          },
        }
      : {},
    securityRequirements: asksForKey ? [requirement] : [],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: [
      {
        id: `${assistant.graph_id}-main`,
        name: assistant.name,
        description,
        tags: ["langgraph", assistant.graph_id],
        examples: [],
        inputModes: modes,
        outputModes: modes,
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
}
