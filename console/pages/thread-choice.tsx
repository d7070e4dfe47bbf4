import { useThreads } from "../api/threads.ts";
import { visible } from "../markdown/links.ts";

/** A choice of one of the newest chats, or of none. */
export function ThreadChoice({
  label,
  none,
  threadId,
  graph,
  onThread,
}: {
  label: string;
  /** What it is called to choose none. */
  none: string;
  threadId: string | undefined;
  /** The graph whose chats they are; without one those of all. */
  graph?: string;
  onThread: (threadId: string | undefined) => void;
}) {
  const threads = useThreads({ archived: false, ...(graph !== undefined && { graph_id: graph }) });
  return (
    <label className="prompt-thread">
      <span>{label}</span>
      <select
        className="filter"
        value={threadId ?? ""}
        onChange={({ target }) => onThread(target.value === "" ? undefined : target.value)}
      >
        <option value="">{none}</option>
        {(threads.data?.pages ?? [])
          .flatMap((page) => page.threads)
          .map(({ thread_id, name, preview }) => (
            <option key={thread_id} value={thread_id}>
              {visible((name === "" ? preview : name).slice(0, 80))}
            </option>
          ))}
      </select>
    </label>
  );
}
