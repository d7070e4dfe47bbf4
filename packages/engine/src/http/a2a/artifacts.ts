import type { Artifact, Part } from "@a2a-js/sdk";
import { isAIMessage, isBaseMessage, isBaseMessageChunk, isHumanMessage, messageText } from "../../message-kinds.ts";
import type { RunEvent } from "../../run-events.ts";
import { messagesIn } from "../../sessions/messages/conversation.ts";
import type { JsonObject, Run } from "../../storage/records.ts";
import { SupersededMessages } from "../responses/superseded-messages.ts";
import { toWireJson } from "../responses/wire.ts";

/** A piece of an artifact: all of it, or what follows the pieces already sent. */
interface ArtifactPiece {
  artifact: Artifact;
  append: boolean;
  lastChunk: boolean;
}

/** A text part. */
export function textPart(value: string): Part {
  return { content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" };
}

/** A data part. */
export function dataPart(value: unknown): Part {
  return { content: { $case: "data", value }, metadata: undefined, filename: "", mediaType: "" };
}

function artifactOf(artifactId: string, part: Part): Artifact {
  return { artifactId, name: "answer", description: "", parts: [part], metadata: undefined, extensions: [] };
}

/**
 * Turns a run's events, in order, into artifacts: each message of the model is one, under its id, sent in pieces as the
 * model writes it; one that is said anew after a crash replaces what an earlier attempt had begun. What was not streamed
 * comes at the end: the last message, or the values of a graph without messages.
 */
export function createArtifactReader(run: Run, hasMessages: boolean) {
  const emitted = new Map<string, string>();
  const anew = new SupersededMessages();
  /** Artifacts of messages, where not their own ids; and those of lost ones, which the next messages take over. */
  const artifacts = new Map<string, string>();
  const free: string[] = [];
  let values: JsonObject | undefined;
  return {
    read(event: RunEvent): ArtifactPiece | undefined {
      for (const id of anew.read(event)) {
        if (emitted.delete(id)) free.push(artifacts.get(id) ?? id);
      }
      if (event.event === "values" && event.namespace.length === 0) values = event.data;
      if (event.event !== "messages" || !hasMessages || !isBaseMessage(event.data)) return undefined;
      const { data: message } = event;
      const { id = run.run_id } = message;
      const text = messageText(message);
      const before = emitted.get(id);
      if (!isAIMessage(message) || text === "" || (before !== undefined && !isBaseMessageChunk(message)))
        return undefined;
      emitted.set(id, (before ?? "") + text);
      if (before === undefined) artifacts.set(id, free.shift() ?? id);
      return {
        artifact: artifactOf(artifacts.get(id) ?? id, textPart(text)),
        append: before !== undefined,
        lastChunk: false,
      };
    },
    /** The run's result as one artifact; `undefined` if there is none. */
    final(): Artifact | undefined {
      return finalArtifact(run, values, hasMessages);
    },
    /** The final artifact, unless its text was already sent. */
    rest(): ArtifactPiece | undefined {
      const artifact = finalArtifact(run, values, hasMessages);
      const content = artifact?.parts[0]?.content;
      const isEmitted = content?.$case === "text" && [...emitted.values()].includes(content.value);
      return artifact === undefined || isEmitted ? undefined : { artifact, append: false, lastChunk: true };
    },
  };
}

function finalArtifact(run: Run, values: JsonObject | undefined, hasMessages: boolean): Artifact | undefined {
  if (values === undefined) return undefined;
  if (!hasMessages) {
    const { __interrupt__: _waiting, ...own } = values;
    const data: unknown = JSON.parse(toWireJson(own));
    return artifactOf(run.run_id, dataPart(data));
  }
  const messages = messagesIn(values);
  const answer = messages.slice(messages.findLastIndex(isHumanMessage) + 1).findLast(isAIMessage);
  if (answer === undefined || messageText(answer) === "") return undefined;
  return artifactOf(answer.id ?? run.run_id, textPart(messageText(answer)));
}
