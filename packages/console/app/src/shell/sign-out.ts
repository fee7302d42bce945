/** Ends the session, and shows the sign-in. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { signOut } from "../api/sign-in.ts";
import { messageOf } from "../ui/states.tsx";
import { showToast } from "../ui/toasts.tsx";

export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      client.clear();
      location.reload();
    },
    onError: (error) => showToast({ tone: "problem", text: messageOf(error) }),
  });
}
