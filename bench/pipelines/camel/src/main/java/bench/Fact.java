package bench;

/** A fact of the relation match. */
public record Fact(String matching, long count) {
    /** One without what the content filter takes away. */
    public record Count(long count) {}

    public boolean matches() {
        return matching.equals("true");
    }

    public Count counted() {
        return new Count(count);
    }
}
