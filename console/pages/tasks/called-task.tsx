import { useLocation } from "wouter";
import { useTask } from "../../api/shaping/tasks.ts";
import { taskAddress } from "../../app/addresses.ts";
import "../../style/later.css";
import { TaskRow } from "./task-row.tsx";

/** A task as it is now, beside the call in a chat that has made or changed it; nothing where it is gone. */
export function CalledTask({ id }: { id: string }) {
  const [, navigate] = useLocation();
  const { data, error } = useTask(id);
  if (data === undefined || error !== null) return null;
  return (
    <div className="tool-body">
      <TaskRow task={data} onOpen={() => navigate(taskAddress(id))} />
    </div>
  );
}
