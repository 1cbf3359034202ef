package bench;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import org.apache.camel.CamelContext;
import org.apache.camel.Exchange;
import org.apache.camel.Route;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.impl.DefaultCamelContext;
import org.apache.camel.support.RoutePolicySupport;

/**
 * Runs a task for each line that comes in, "task form folder", and answers with the seconds that it took: from the start of
 * the routes to the end of the last message.
 */
public final class Bench {
    private static final Map<String, BiFunction<String, String, RouteBuilder>> TASKS =
            Map.of(
                    "message-filter", MessageFilter::new,
                    "content-based-router", ContentBasedRouter::new,
                    "content-filter", ContentFilter::new,
                    "soccer", (form, folder) -> new Soccer(folder));

    public static void main(String[] arguments) throws Exception {
        var commands = new BufferedReader(new InputStreamReader(System.in));
        new DefaultCamelContext().start();
        System.out.println("ready");
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ", 3);
            System.out.println(seconds(TASKS.get(words[0]).apply(words[1], words[2])));
        }
    }

    private static double seconds(RouteBuilder routes) throws Exception {
        try (CamelContext context = new DefaultCamelContext()) {
            var end = new End();
            context.addRoutes(routes);
            context.addRoutePolicyFactory((itself, id, route) -> end);
            long start = System.nanoTime();
            context.start();
            return (end.await() - start) / 1e9;
        }
    }

    /** When the message that a file is, with all that it was split into, has left its route. */
    private static final class End extends RoutePolicySupport {
        private final CompletableFuture<Long> reached = new CompletableFuture<>();

        @Override
        public void onExchangeDone(Route route, Exchange exchange) {
            if (exchange.getException() != null) {
                reached.completeExceptionally(exchange.getException());
            } else if (route.getEndpoint().getEndpointUri().startsWith("file:")) {
                reached.complete(System.nanoTime());
            }
        }

        long await() throws Exception {
            return reached.get();
        }
    }

    private Bench() {}
}
