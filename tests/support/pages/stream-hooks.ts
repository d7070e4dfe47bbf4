import { Client } from "@langchain/langgraph-sdk";
import { StreamController } from "@langchain/langgraph-sdk/stream";
import { useStream as useClassicStream } from "@langchain/langgraph-sdk/react";
import { useStream as useProtocolStream } from "@langchain/react";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { errorMessage } from "@millrace/engine/errors/errors";

/** What a chat page shows, and what its buttons do, whichever hook is behind it. */
export interface Screen {
  messages: { id: string; type: string; text: string }[];
  isLoading: boolean;
  /** What the thread waits for. */
  question: unknown;
  error: string | undefined;
  send(text?: string): void;
  /** Approves what is asked. */
  approve(): void;
  stop(): void;
}

/** Where a page finds its server and its thread. */
export interface ScreenOptions {
  apiUrl: string;
  assistantId: string;
  /** The thread of before a reload. */
  threadId: string | null;
  /** A thread was made for the page. */
  onThreadId: (threadId: string) => void;
  /** Where the SDK's hook remembers its run over a reload. */
  storage: () => PageStorage;
}

/** As much of the browser's storage as the SDK uses. */
export interface PageStorage {
  getItem(key: `lg:stream:${string}`): string | null;
  setItem(key: `lg:stream:${string}`, value: string): void;
  removeItem(key: `lg:stream:${string}`): void;
}

/** The hooks by the package they come from. */
export type HookName = "@langchain/langgraph-sdk/react" | "@langchain/react" | "@langchain/langgraph-sdk/stream";

/** The hook of the SDK, over the streams of runs. */
function useClassic({ storage, ...options }: ScreenOptions): Screen {
  const stream = useClassicStream({ ...options, reconnectOnMount: storage, fetchStateHistory: true });
  return {
    messages: stream.messages.map(({ id, type, content }) => ({ id: id ?? "", type, text: textOf(content) })),
    isLoading: stream.isLoading,
    question: stream.interrupt?.value,
    error: stream.error === undefined ? undefined : errorMessage(stream.error),
    send: (text = "") =>
      void stream.submit(
        { messages: [{ type: "human", content: text, id: crypto.randomUUID() }] },
        { streamResumable: true },
      ),
    approve: () => void stream.submit(undefined, { command: { resume: approval }, streamResumable: true }),
    stop: () => void stream.stop(),
  };
}

/** The hook of `@langchain/react`, over the event protocol. */
function useProtocol({ apiUrl, assistantId, threadId, onThreadId }: ScreenOptions): Screen {
  const stream = useProtocolStream({ apiUrl, assistantId, threadId, onThreadId });
  return {
    messages: stream.messages.map((message) => ({ id: message.id ?? "", type: message.getType(), text: message.text })),
    isLoading: stream.isLoading,
    question: stream.interrupt?.value,
    error: stream.error === undefined ? undefined : errorMessage(stream.error),
    send: (text = "") => void stream.submit({ messages: [{ type: "human", content: text, id: crypto.randomUUID() }] }),
    approve: () => {
      // By its id: right after a reload the page knows the question before the stream has sent it again.
      const { id } = stream.interrupt ?? {};
      void stream.respond(approval, id === undefined ? {} : { interruptId: id });
    },
    stop: () => void stream.stop(),
  };
}

/** What `useStream` is made of in the newest SDK: `@langchain/react` brings one of its own, which is older. */
function useController({ apiUrl, assistantId, threadId, onThreadId }: ScreenOptions): Screen {
  const controller = useMemo(() => {
    const client = new Client({ apiUrl });
    return new StreamController({ client, assistantId, threadId, onThreadId });
    // The controller itself takes on the thread that it makes.
  }, [apiUrl, assistantId]);
  useEffect(() => controller.activate(), [controller]);
  const root = useSyncExternalStore(controller.rootStore.subscribe, controller.rootStore.getSnapshot);
  return {
    messages: root.messages.map((message) => ({ id: message.id ?? "", type: message.getType(), text: message.text })),
    isLoading: root.isLoading,
    question: root.interrupt?.value,
    error: root.error === undefined ? undefined : errorMessage(root.error),
    send: (text = "") =>
      void controller.submit({ messages: [{ type: "human", content: text, id: crypto.randomUUID() }] }),
    approve: () => {
      const { id } = root.interrupt ?? {};
      void controller.respond(approval, id === undefined ? {} : { interruptId: id });
    },
    stop: () => void controller.stop(),
  };
}

const approval = { decisions: [{ type: "approve" }] };

const hooks: Record<HookName, (options: ScreenOptions) => Screen> = {
  "@langchain/langgraph-sdk/react": useClassic,
  "@langchain/react": useProtocol,
  "@langchain/langgraph-sdk/stream": useController,
};

/** A component that shows nothing and reports what it would show. */
export function createPage(hook: HookName, options: ScreenOptions, show: (screen: Screen) => void): () => null {
  const useHook = hooks[hook];
  return () => {
    const [threadId, setThreadId] = useState(options.threadId);
    const onThreadId = (id: string): void => {
      options.onThreadId(id);
      setThreadId(id);
    };
    show(useHook({ ...options, threadId, onThreadId }));
    return null;
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  // Content is a text or a list of parts, of which those with text are shown.
  const parts = content as { text?: string }[];
  return parts.map(({ text = "" }) => text).join("");
}
