import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { answerBeginning } from "@millrace/models/messages/answer-beginning";
import { toModelError } from "@millrace/models/model-error";
import { providers } from "@millrace/models/index";
import type { ModelProfile } from "@millrace/models/registry/model-profile";
import { openAiCompatible } from "@millrace/models/openai-compatible";
import { profileOf, type ProfileRows } from "@millrace/models/registry/profiles";
import type { ModelOptions, Provider } from "@millrace/models/provider";
import { startModelServer, type ModelRequest, type ModelServer } from "@millrace/testing/model-server";
import { providersTable, vendorNames, type VendorName } from "./providers-table.ts";
import { vendorModel, wireOf } from "./vendor-model.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

/** A model of each vendor that thinks, where it can be chosen one that can do both; and one that does not think. */
const thinking: Record<VendorName, string> = {
  openai: "openai:gpt-5",
  zhipu: "zhipu:glm-4.7",
  siliconflow: "siliconflow:Qwen/Qwen3-8B",
  deepseek: "deepseek:deepseek-chat",
  qwen: "qwen:qwen3-8b",
  ollama: "ollama:qwen3:8b",
  own: "own:qwen3-8b",
};
const plain: Record<VendorName, string> = { ...thinking, openai: "openai:gpt-4o" };
const rows: ProfileRows = Object.fromEntries(
  ["ollama:qwen3:8b", "own:qwen3-8b"].map((name) => [name, { thinking: "optional", temperature_thinking: 0.875 }]),
);
const files: Record<VendorName, string> = {
  openai: "openai",
  zhipu: "glm",
  siliconflow: "siliconflow",
  deepseek: "deepseek",
  qwen: "qwen",
  ollama: "ollama",
  own: "compatible",
};

interface Sending {
  options?: ModelOptions;
  messages?: BaseMessage[];
  call?: Record<string, unknown>;
  streamed?: boolean;
}

async function sent(name: string, { options, messages, call = {}, streamed = true }: Sending): Promise<ModelRequest> {
  const server = await startModelServer({ script: [{ text: "ok" }] });
  servers.push(server);
  const model = vendorModel(name, server, options, rows).withConfig(call);
  const asked = messages ?? [new HumanMessage("hello")];
  if (streamed) for await (const _ of await model.stream(asked));
  else await model.invoke(asked);
  const [request] = server.requests;
  if (request === undefined) throw new Error("nothing was sent");
  return request;
}

const on = { thinking: true };
const off = { thinking: false };
const tool = (name: string): object => ({
  type: "function",
  function: { name, description: "d", parameters: { type: "object", properties: {} } },
});
const forced = { tools: [tool("a"), tool("b")], tool_choice: "a" };

/** What a request says of thinking, by whatever field; where a vendor has none, the temperature shows it. */
function thinks(vendor: VendorName, { body }: ModelRequest): unknown {
  if (vendor === "openai") return !("temperature" in body);
  if (vendor === "own") return body["temperature"] === 0.875;
  const field = body["thinking"] ?? body["enable_thinking"] ?? body["think"];
  return typeof field === "object" && field !== null && "type" in field ? field.type === "enabled" : field;
}

function temperatureIn({ body }: ModelRequest): unknown {
  return body["temperature"] ?? Object(body["options"]).temperature;
}

const assistant = (text: string, reasoning_content: string, id?: string): AIMessage =>
  new AIMessage({
    content: text,
    additional_kwargs: { reasoning_content },
    ...(id === undefined ? {} : { tool_calls: [{ name: "add", args: {}, id }] }),
  });
const twoTurns = [
  new HumanMessage("first"),
  assistant("", "old thoughts", "a1"),
  new ToolMessage({ tool_call_id: "a1", content: "3" }),
  assistant("three", "last thoughts"),
  new HumanMessage("second"),
  assistant("", "new thoughts", "a2"),
  new ToolMessage({ tool_call_id: "a2", content: "4" }),
];
const broken = ["network_error", "insufficient_system_resource"];

/** What a cell says, seen in what a vendor is sent, or in the message that its bytes become. */
const checks: Record<string, (vendor: VendorName, cell: string) => Promise<void>> = {
  async thinkingField(vendor, cell) {
    const fields = ["thinking", "enable_thinking", "think", "chat_template_kwargs"];
    for (const [options, isOn] of [
      [on, true],
      [off, false],
    ] as const) {
      const { body } = await sent(thinking[vendor], { options });
      const value = cell === "thinking" ? { type: isOn ? "enabled" : "disabled" } : isOn;
      expect(Object.fromEntries(fields.flatMap((field) => (field in body ? [[field, body[field]]] : [])))).toEqual(
        cell === "–" ? {} : { [cell]: value },
      );
    }
  },
  async reasoningBack(vendor, cell) {
    const { messages } = await sent(thinking[vendor], { options: on, messages: twoTurns });
    const back = messages
      .filter(({ role }) => role === "assistant")
      .map((message) => message["reasoning_content"] ?? message["thinking"]);
    const expected = {
      none: [undefined, undefined, undefined],
      turn: [undefined, undefined, "new thoughts"],
      calls: ["old thoughts", undefined, "new thoughts"],
    };
    expect(back).toEqual(Object(expected)[cell]);
  },
  async forcedTool(vendor, cell) {
    for (const options of [on, off]) {
      const request = await sent(thinking[vendor], { options, call: forced });
      const isForced = "tool_choice" in request.body;
      expect(isForced).toBe(cell !== "never");
      expect(request.toolNames).toEqual(isForced ? ["a", "b"] : ["a"]);
      if (cell === "unless_thinking") expect(thinks(vendor, request)).toBe(false);
    }
  },
  async thinksUnstreamed(vendor, cell) {
    const request = await sent(thinking[vendor], { options: { ...on, temperature: 0.5 }, streamed: false });
    expect(thinks(vendor, request)).toBe(cell === "yes");
  },
  async thinksInJson(vendor, cell) {
    const call = { response_format: { type: "json_object" }, format: "json" };
    const request = await sent(thinking[vendor], { options: { ...on, temperature: 0.5 }, call });
    expect(thinks(vendor, request)).toBe(cell === "yes");
  },
  async thinkingTemperature(vendor, cell) {
    const request = await sent(thinking[vendor], { options: { ...on, temperature: 0.5 } });
    expect(temperatureIn(request) !== undefined).toBe(cell === "yes");
  },
  async highestTemperature(vendor, cell) {
    const request = await sent(plain[vendor], { options: { ...off, temperature: 2 } });
    expect(temperatureIn(request)).toBe(Number(cell));
  },
  async imagesFirst(vendor, cell) {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const messages = [new HumanMessage({ content: [{ type: "text", text: "What is this?" }, image] })];
    const [message] = (await sent(plain[vendor], { messages })).messages;
    // Ollama has a place of their own for them.
    if (vendor === "ollama") expect(message).toMatchObject({ content: "What is this?", images: ["AAAA"] });
    else {
      const order = ["text", "image_url"].map((type) => ({ type }));
      expect(message?.content).toMatchObject(cell === "yes" ? order.toReversed() : order);
    }
  },
  async brokenEnds(vendor, cell) {
    for (const reason of broken) {
      const bytes = wireOf(files[vendor], "answer").replace(/("(?:finish|done)_reason": ?)"stop"/u, `$1"${reason}"`);
      expect(bytes).toContain(reason);
      const server = await startModelServer({ script: [{ wire: bytes }] });
      servers.push(server);
      const read = async (): Promise<string> => {
        let text = "";
        for await (const chunk of await vendorModel(thinking[vendor], server, {}, rows).stream("hello"))
          text += chunk.text;
        return text;
      };
      const outcome = await read().catch((error: unknown) => toModelError(error).code);
      expect(outcome).toBe(cell.split(", ").includes(reason) ? "network" : "The file says: 4.");
    }
  },
  async hasResponses(vendor, cell) {
    // The client takes models of such names for some that have nothing else.
    const { path } = await sent(`${vendor}:gpt-5-codex`, {});
    expect(path.endsWith("/responses")).toBe(cell === "yes");
  },
  async sealedReasoning(vendor, cell) {
    const { body } = await sent(`${vendor}:gpt-5-codex`, { options: on });
    expect(body["include"]).toEqual(cell === "yes" ? ["reasoning.encrypted_content"] : undefined);
  },
  async searchTool(vendor, cell) {
    const { body } = await sent(plain[vendor], { options: { webSearch: true }, call: { tools: [tool("a")] } });
    const types = body.tools?.map((offered) => Object(offered).type);
    expect(types).toEqual(cell === "–" ? ["function"] : ["function", cell]);
  },
  async beginningField(vendor, cell) {
    const messages = [new HumanMessage("Count"), answerBeginning("One, ", "")];
    const last = (await sent(plain[vendor], { messages, options: off })).messages.at(-1);
    expect(last).toEqual({ role: "assistant", content: "One, ", ...(cell === "–" ? {} : { [cell]: true }) });
  },
  async beginningPath(vendor, cell) {
    const { path: usual } = await sent(plain[vendor], { options: off });
    const messages = [new HumanMessage("Count"), answerBeginning("One, ", "")];
    const { path } = await sent(plain[vendor], { messages, options: off });
    expect(path).toBe(cell === "–" ? usual : usual.replace("/v1", cell));
  },
  async beginningWhileThinking(vendor, cell) {
    // Of a model that thinks, it is known before the rest is requested whether it can be begun.
    const { maker, profile } = makerOf(vendor);
    expect(maker.takesBeginning?.(profile, on) ?? false).toBe(cell === "yes");
    if (cell === "no") return;
    const messages = [new HumanMessage("Count"), answerBeginning("One, ", "Up to three.")];
    const request = await sent(thinking[vendor], { messages, options: on });
    expect(thinks(vendor, request)).toBe(true);
    expect(request.messages.at(-1)).toMatchObject({
      content: "One, ",
      reasoning_content: "Up to three.",
      prefix: true,
    });
  },
};

/** Who makes the clients of a vendor, and what is known of its model that thinks. */
function makerOf(vendor: VendorName): { maker: Provider; profile: ModelProfile } {
  const own = openAiCompatible({ title: "Own", baseUrl: "http://127.0.0.1:1/v1" });
  return { maker: providers[vendor] ?? own, profile: profileOf(thinking[vendor], rows) };
}

const cells = providersTable().flatMap(({ quirk = "", ...row }) => {
  const name = quirk.replaceAll("`", "");
  return quirk.startsWith("`") ? vendorNames.map((vendor) => [name, vendor, row[vendor] ?? ""] as const) : [];
});

describe("each cell of the table of vendors", () => {
  it("has a check", () => {
    expect(cells.length).toBeGreaterThanOrEqual(12 * vendorNames.length);
    expect([...new Set(cells.map(([quirk]) => quirk))].toSorted()).toEqual(Object.keys(checks).toSorted());
  });

  it.each(cells)("%s of %s is %s", async (quirk, vendor, cell) => {
    expect(cell).not.toBe("");
    await (checks[quirk] ?? expect.unreachable)(vendor, cell);
  });
});
