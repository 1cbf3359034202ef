<a>&nbsp;</a>
